import pytest
from tests.unit.coordinator.classic.classic_driver import ClassicDriver


@pytest.fixture
def driver() -> ClassicDriver:
    return ClassicDriver()
