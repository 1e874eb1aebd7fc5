import pytest
from tests.unit.group.classic.classic_driver import ClassicDriver


@pytest.fixture
def driver() -> ClassicDriver:
    return ClassicDriver()
