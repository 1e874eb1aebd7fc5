import subprocess
import sys

import pytest

from barnabas import __version__
from barnabas.cli.main import main


def test_help_loads_nothing_of_the_broker() -> None:
    program = (
        "import sys\n"
        "from barnabas.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'kio', 'asyncio', 'uvloop', 'sqlite3', 'socket', 'logging'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "serve" in result.stdout
    assert "adopt" in result.stdout
    assert result.stdout.endswith("loaded: []\n")


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith(f"barnabas {__version__} ")


def test_no_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main([])
    assert error.value.code == 2
    assert "usage: barnabas" in capsys.readouterr().err


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("barnabas.cli.serve.serve", interrupted)
    assert main(["serve"]) == 130
