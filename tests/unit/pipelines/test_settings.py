from dataclasses import dataclass
from pathlib import Path

import pytest

from barnabas.pipelines.common.settings import Settings, read, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Own(Settings):
    topic: str = setting("orders", "The topic.")
    window: int = setting(60, "Seconds.")


def own(*arguments: str, **environment: str) -> Own:
    return read(Own, "own", "A test.", arguments, environment)


def test_defaults() -> None:
    assert own() == Own()


def test_flags_win_over_environment_and_environment_over_defaults() -> None:
    given = own("--topic", "a", BARNABAS_TOPIC="b", BARNABAS_WINDOW="5", BARNABAS_BOOTSTRAP_SERVER="k:1")
    assert (given.topic, given.window, given.bootstrap_server) == ("a", 5, "k:1")


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ((), {}, False),
        (("--available-now",), {}, True),
        ((), {"BARNABAS_AVAILABLE_NOW": "true"}, True),
        (("--no-available-now",), {"BARNABAS_AVAILABLE_NOW": "true"}, False),
    ],
)
def test_switches(arguments: tuple[str, ...], environment: dict[str, str], expected: bool) -> None:
    assert own(*arguments, **environment).available_now is expected


def test_wrong_number_is_reported_also_from_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        own(BARNABAS_WINDOW="soon")
    assert "invalid int value: 'soon'" in capsys.readouterr().err


def test_help_names_flags_variables_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        own("--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "--window INT Seconds. (or BARNABAS_WINDOW; default 60)" in text


def test_checkpoints_lie_in_the_warehouse_by_default(tmp_path: Path) -> None:
    inside = Own(warehouse=str(tmp_path))
    assert inside.checkpoint_of("q") == tmp_path / "_checkpoints" / "q"
    assert Own(checkpoints=str(tmp_path / "c")).checkpoint_of("q") == tmp_path / "c" / "q"
