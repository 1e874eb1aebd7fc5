from pathlib import Path

import pytest

from barnabas.cli.settings import SettingsError, load_settings


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(f"broker.id=3\nlog.dirs={tmp_path}/logs\nlisteners=PLAINTEXT://127.0.0.1:19092\n")
    return path


def test_file_is_read(properties: Path) -> None:
    config = load_settings(properties, [])
    assert config.broker_id == 3
    assert config.listeners[0].port == 19092


def test_overrides_win_over_the_file_and_the_last_one_over_the_others(properties: Path) -> None:
    assert load_settings(properties, ["broker.id=4", "broker.id=5"]).broker_id == 5


def test_value_of_an_override_may_contain_an_equals_sign(properties: Path) -> None:
    config = load_settings(properties, [f"log.dirs={properties.parent}/a=b"])
    assert [directory.name for directory in config.log_dirs] == ["a=b"]


def test_without_a_file_only_this_machine_can_connect() -> None:
    config = load_settings(None, [])
    assert [(listener.host, listener.port) for listener in config.listeners] == [("127.0.0.1", 9092)]


@pytest.mark.parametrize("override", ["broker.id", "=3", ""])
def test_override_without_key_and_value_is_refused(properties: Path, override: str) -> None:
    with pytest.raises(SettingsError, match="expected key=value"):
        load_settings(properties, [override])


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"absent\.properties: No such file"):
        load_settings(tmp_path / "absent.properties", [])


def test_bad_value_is_one_line_with_key_and_value(properties: Path) -> None:
    with pytest.raises(SettingsError) as error:
        load_settings(properties, ["log.segment.bytes=many"])
    text = str(error.value)
    assert "log.segment.bytes" in text
    assert "many" in text
    assert "\n" not in text


def test_unknown_key_is_only_a_warning(properties: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_settings(properties, ["log.segmnt.bytes=1"]).broker_id == 3
    warning = capsys.readouterr().err
    assert warning.startswith("barnabas: warning: ")
    assert "log.segmnt.bytes" in warning
    assert warning.count("\n") == 1
