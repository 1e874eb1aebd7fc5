import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import barnabas
from barnabas.base.errors import StorageError
from barnabas.cli.commands.serve import serve as serve_command
from barnabas.cli.serve import READY_VARIABLE, serve

Serve = Callable[..., None]


@pytest.fixture
def fake_broker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Serve], None]:
    """Replaces `barnabas.broker.serve` by a function. Keeps the log handlers of the run."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("barnabas.cli.log_format.log_to_stderr", lambda *, quiet=False: None)

    def install(function: Serve) -> None:
        module = ModuleType("barnabas.broker")
        module.serve = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "barnabas.broker", module)
        monkeypatch.setattr(barnabas, "broker", module, raising=False)

    return install


def _ready(config: object, *, on_ready: Callable[[object], None]) -> None:
    on_ready(SimpleNamespace(port=9092))


def _raising(error: Exception) -> Serve:
    def run(config: object, *, on_ready: object) -> None:
        raise error

    return run


def test_ready_broker_greets_and_a_clean_stop_is_status_0(
    fake_broker: Callable[[Serve], None], capsys: pytest.CaptureFixture[str]
) -> None:
    fake_broker(_ready)
    assert serve(None, []) == 0
    assert "is ready" in capsys.readouterr().out


def test_quiet_broker_says_nothing(
    fake_broker: Callable[[Serve], None], capsys: pytest.CaptureFixture[str]
) -> None:
    fake_broker(_ready)
    assert serve(None, [], quiet=True) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EADDRINUSE, "Address already in use"), "127.0.0.1:9092: the port is in use"),
        (OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"), "no such address"),
        (PermissionError(errno.EACCES, "Permission denied"), "ports below 1024"),
        (PermissionError(errno.EACCES, "Permission denied", "/data"), "'/data'"),
        (StorageError("data is in use by another broker"), "data is in use by another broker"),
    ],
)
def test_failed_start_is_one_line_and_status_1(
    fake_broker: Callable[[Serve], None], capsys: pytest.CaptureFixture[str], error: Exception, message: str
) -> None:
    fake_broker(_raising(error))
    assert serve(None, []) == 1
    line = capsys.readouterr().err
    assert message in line
    assert line.count("\n") == 1


def test_defect_is_logged_with_its_traceback(
    fake_broker: Callable[[Serve], None], caplog: pytest.LogCaptureFixture
) -> None:
    fake_broker(_raising(ZeroDivisionError("defect")))
    assert serve(None, []) == 1
    assert "ZeroDivisionError" in caplog.text


def test_bad_configuration_is_one_line_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve(None, ["num.partitions=none"]) == 1
    line = capsys.readouterr().err
    assert line.startswith("barnabas: ")
    assert "num.partitions" in line
    assert line.count("\n") == 1


def test_starter_is_notified_when_the_broker_is_ready(
    fake_broker: Callable[[Serve], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    monkeypatch.setenv(READY_VARIABLE, str(writer))
    fake_broker(_ready)
    assert serve(None, [], quiet=True) == 0
    with open(reader, "rb") as pipe:
        assert pipe.read() == b"ready\n"


def test_accepted_losses_become_the_configuration_of_this_start(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, ...]] = []
    monkeypatch.setattr("barnabas.cli.serve.serve", lambda _file, overrides, **_: given.append(overrides))
    arguments = ["--override", "node.id=1", "--accept-data-loss", "partitions"]
    serve_command.main(
        [*arguments, "--accept-data-loss", "log-directories", "--quiet"], standalone_mode=False
    )
    assert given == [("node.id=1", "barnabas.accept.data.loss=partitions,log-directories")]
