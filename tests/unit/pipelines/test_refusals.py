"""Errors that a user can fix are one line and an exit status, whichever layer raises them."""

import errno
from collections.abc import Sequence

import pytest
from pyspark.errors import AnalysisException

from barnabas.client.errors import Unreachable
from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.settings import BadSetting
from barnabas.pipelines.common.subscriptions import whole_name


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (BadSetting("--window: no such time"), "--window: no such time", 2),
        (Unreachable("no broker responds"), "no broker responds", 1),
        (OSError(errno.ENOSPC, "No space left on device"), "[Errno 28] No space left on device", 1),
        (AnalysisException("\n [CODE] first words \n at some.java.Class"), "[CODE] first words", 1),
    ],
)
def test_one_line_and_a_status(
    error: Exception, line: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    @plainly("logs")
    def main(arguments: Sequence[str] | None = None) -> int:
        raise error

    assert main() == status
    assert capsys.readouterr().err == f"logs: {line}\n"


def test_unexpected_error_is_not_hidden() -> None:
    @plainly("logs")
    def main() -> int:
        raise KeyError("a fault of ours")

    with pytest.raises(KeyError):
        main()


def test_a_pattern_is_for_whole_names() -> None:
    assert whole_name("a|shop.*").search("shops")
    assert not whole_name("a|shop.*").search("workshops")
    assert not whole_name("a|shop.*").search("ab")
    assert whole_name("(?i)A|SHOP.*").search("shops")
    assert not whole_name("(?i)A|SHOP.*").search("workshops")


@pytest.mark.parametrize("pattern", ["[", "(", "[a&&b]", "x)(y"])
def test_a_pattern_that_cannot_be_read_is_named(pattern: str) -> None:
    with pytest.raises(BadSetting, match="--topics-pattern"):
        whole_name(pattern)
