from pathlib import Path

import pytest

from barnabas.cli.kafka import server_start


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, list[str]]]:
    calls: list[tuple[Path, list[str]]] = []

    def serve(properties: Path, overrides: list[str]) -> int:
        calls.append((properties, overrides))
        return 0

    monkeypatch.setattr(server_start, "serve", serve)
    return calls


def test_arguments_are_kafkas(served: list[tuple[Path, list[str]]]) -> None:
    words = ["-name", "kafkaServer", "-loggc", "server.properties", "--override", "a=1", "--override=b=2"]
    assert server_start.main(words) == 0
    assert served == [(Path("server.properties"), ["a=1", "b=2"])]


@pytest.mark.parametrize(
    "words",
    [[], ["--help"], ["-daemon"], ["--override", "a=1"], ["a", "--override"], ["a", "b"], ["a", "-x"]],
)
def test_wrong_arguments_print_the_usage_and_are_status_1(
    served: list[tuple[Path, list[str]]], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert server_start.main(words) == 1
    assert "[-daemon] server.properties [--override property=value]*" in capsys.readouterr().err
    assert served == []


def test_daemon_that_cannot_start_is_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    assert server_start.main(["-daemon", str(tmp_path / "absent.properties")]) == 1
    assert "absent.properties: No such file" in capfd.readouterr().err
    assert "absent.properties" in (tmp_path / "logs" / "kafkaServer.out").read_text()
