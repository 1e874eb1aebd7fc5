import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.cli.main import main
from barnabas.pipelines import catalog


def test_list_names_all_six(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "list", "--json"]) == 0
    listed = [each["name"] for each in json.loads(capsys.readouterr().out)]
    assert listed == ["logs", "activity", "metrics", "offline-load", "mirror", "report"]


def test_list_loads_no_spark() -> None:
    program = (
        "import sys\n"
        "from barnabas.cli.main import main\n"
        "main(['pipeline', 'list'])\n"
        "print('loaded:', sorted({'pyspark', 'pyarrow', 'numpy', 'pandas'} & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("loaded: []\n")


@pytest.mark.parametrize("command", [["run", "nonsense"], ["copy", "nonsense", "there"]])
def test_an_unknown_pipeline_is_one_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", *command]) == 1
    error = capsys.readouterr().err
    assert error.startswith("barnabas: no pipeline 'nonsense': there are logs, ")
    assert error.count("\n") == 1


def test_run_without_spark_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["pipeline", "run", "logs"]) == 1
    assert capsys.readouterr().err == "barnabas: Spark is not installed: pip install 'barnabas[spark]'\n"


def test_run_without_java_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["pipeline", "run", "logs"]) == 1
    assert "Java 17" in capsys.readouterr().err


def test_run_gives_every_flag_to_the_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[str]] = []

    def fake(arguments: object) -> int:
        assert isinstance(arguments, list)
        given.append(arguments)
        return 3

    monkeypatch.setattr("barnabas.cli.commands.pipeline._check_spark", lambda: None)
    monkeypatch.setattr(catalog.Pipeline, "main", lambda self: fake)
    assert main(["pipeline", "run", "offline-load", "backfill", "--topic", "x", "--help"]) == 3
    assert given == [["backfill", "--topic", "x", "--help"]]


def test_a_copy_is_a_package_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "copy", "report", str(tmp_path / "my_report")]) == 0
    copied = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"my_report/__main__.py", "my_report/README.md", "my_report/transformations/views.py"} <= copied
    code = "".join(path.read_text() for path in tmp_path.rglob("*.py"))
    assert "barnabas.pipelines.report" not in code
    assert "from my_report.page import page" in code
    assert "from barnabas.pipelines.common.settings import" in code
    assert "python -m my_report" in capsys.readouterr().err


def test_a_copy_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "copy", "logs", str(tmp_path)]) == 1
    assert main(["pipeline", "copy", "logs", str(tmp_path / "not-a-name")]) == 1
    assert "already exists" in capsys.readouterr().err


def test_offsets_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.unit.pipelines.arrow_frame import frame

    from barnabas.pipelines.common.delta_files import Store
    from barnabas.pipelines.common.delta_table import DeltaLakeTable
    from barnabas.pipelines.common.table_record import Change

    table = DeltaLakeTable(Store(str(tmp_path / "orders"), {}))
    for batch, end in enumerate((10, 20)):
        change = Change({"orders": {"0": end, "1": 5}})
        table.write_batch(frame([batch]), batch, ("date", "hour"), writer="w", change=change)
    assert main(["pipeline", "offsets", str(tmp_path / "orders"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"topic": "orders", "partition": 0, "next_offset": 20},
        {"topic": "orders", "partition": 1, "next_offset": 5},
    ]
    assert main(["pipeline", "offsets", str(tmp_path / "orders"), "--having", "orders:0:12"]) == 0
    assert capsys.readouterr().out == "Version 2 is the first with orders:0:12\n"


@pytest.mark.parametrize(
    ("having", "said"),
    [
        ("orders:0:20", "has no offset 20 of partition 0 of topic orders"),
        ("orders", "is not TOPIC:PARTITION:"),
    ],
)
def test_offsets_that_a_table_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], having: str, said: str
) -> None:
    from tests.unit.pipelines.arrow_frame import frame

    from barnabas.pipelines.common.delta_files import Store
    from barnabas.pipelines.common.delta_table import DeltaLakeTable

    table = DeltaLakeTable(Store(str(tmp_path / "orders"), {}))
    table.write_batch(frame([1]), 0, ("date", "hour"), writer="w")
    assert main(["pipeline", "offsets", str(tmp_path / "orders"), "--having", having]) == 1
    assert said in capsys.readouterr().err


def test_offsets_of_what_is_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "offsets", str(tmp_path / "nothing")]) == 1
    assert capsys.readouterr().err == f"barnabas: {tmp_path / 'nothing'} is no table\n"
