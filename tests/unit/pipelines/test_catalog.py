import pytest

from barnabas.pipelines.catalog import PIPELINES, find


def test_names_are_those_of_the_issue() -> None:
    assert [each.name for each in PIPELINES] == [
        "logs", "activity", "metrics", "offline-load", "mirror", "report",
    ]  # fmt: skip


@pytest.mark.needs("pyspark")
@pytest.mark.parametrize("name", ["logs", "activity", "metrics"])
def test_each_has_a_main_with_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        find(name).main()(["--help"])
    assert ended.value.code == 0
    assert f"barnabas pipeline run {name}" in capsys.readouterr().out


def test_unknown_name_is_reported_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match="logs, activity, metrics"):
        find("nothing")
