"""Our tools print what Apache Kafka's print, and both work with both brokers."""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.integration.tools.parity import Setup, check_expected, check_parity
from tests.integration.tools.scenario import Scenario, Way

_SCENARIOS = Path(__file__).parent / "scenarios"


def _all_scenarios() -> Iterator[tuple[str, Scenario]]:
    for path in sorted(_SCENARIOS.glob("[!_]*.py")):
        name = f"tests.integration.tools.scenarios.{path.stem}"
        scenarios: list[Scenario] = list(importlib.import_module(name).SCENARIOS)
        for scenario in scenarios:
            yield f"{path.stem}-{scenario.slug}", scenario


_ALL = dict(_all_scenarios())
_WITH_EXPECTED_TEXT = [
    name
    for name, scenario in _ALL.items()
    if scenario.has_expected_text and Way.OURS_AT_BARNABAS in scenario.ways
]


@pytest.mark.parametrize("name", _ALL)
def test_tool_prints_what_apache_kafkas_prints(
    name: str, setups: Mapping[Way, Setup], tmp_path: Path
) -> None:
    check_parity(_ALL[name], setups, tmp_path)


@pytest.mark.parametrize("name", _WITH_EXPECTED_TEXT)
def test_tool_prints_the_expected_text(name: str, ours_at_barnabas: Setup, tmp_path: Path) -> None:
    check_expected(_ALL[name], ours_at_barnabas, tmp_path)
