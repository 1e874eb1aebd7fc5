import io
from typing import Any

from barnabas.pipelines.common.progress import ProgressLine, progress_of


class FakeQuery:
    def __init__(self, batch: int | None = 3, end: object = None, latest: object = None) -> None:
        self.batch: int | None = batch
        self.end: object = end or '{"t":{"0":5,"1":7}}'
        self.latest: object = latest or '{"t":{"0":6,"1":17},"u":{"0":2}}'

    @property
    def lastProgress(self) -> Any:  # noqa: N802
        if self.batch is None:
            return None
        return {
            "batchId": self.batch,
            "processedRowsPerSecond": 1234.5,
            "durationMs": {"triggerExecution": 420},
            "sources": [{"endOffset": self.end, "latestOffset": self.latest}],
        }


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_rate_lag_and_batch() -> None:
    one = FakeQuery(latest='{"t":{"0":6,"1":17}}')
    assert str(progress_of("q", one)) == "q: 1,234 rows/s, lag 11, batch 3 in 0.4 s"


def test_topics_that_lag_most_are_named() -> None:
    assert "lag 13 (t 11, u 2)," in str(progress_of("q", FakeQuery()))
    many = FakeQuery(latest='{"a":{"0":1},"b":{"0":2000},"c":{"0":3},"d":{"0":0},"t":{"0":9,"1":7}}')
    assert "lag 2,008 (b 2,000, t 4, c 3)," in str(progress_of("q", many))
    none = FakeQuery(latest='{"t":{"0":5,"1":7},"u":{"0":0}}')
    assert "lag 0," in str(progress_of("q", none))


def test_lag_is_unknown_if_the_source_does_not_report_it() -> None:
    state = progress_of("q", FakeQuery(latest="null"))
    assert state is not None
    assert state.lags == {}
    assert "lag ?," in str(state)


def test_what_is_no_topic_in_an_offset_is_left_alone() -> None:
    state = progress_of("q", FakeQuery(end='{"@ids t=x":{},"@initial t-0=1":{},"t":{"0":5}}'))
    assert state is not None
    assert state.lags == {"t": 1 + 17, "u": 2}


def test_terminal_has_one_line_that_is_written_over() -> None:
    screen = Terminal()
    line = ProgressLine(screen)
    line.show({"q": FakeQuery()}, 0.0)
    line.show({"q": FakeQuery(4)}, 0.5)
    assert "\n" not in screen.getvalue()
    assert screen.getvalue().count("\r\x1b[K") == 2


def test_a_log_gets_a_line_per_batch_and_not_too_often() -> None:
    log = io.StringIO()
    line, query = ProgressLine(log), FakeQuery(None)
    line.show({"q": query}, 0.0)
    for batch, now in ((1, 11.0), (2, 12.0), (3, 22.0), (3, 33.0)):
        query.batch = batch
        line.show({"q": query}, now)
    assert [text.split("batch ")[1][0] for text in log.getvalue().splitlines()] == ["1", "3"]


def test_the_end_reports_each_query_once_more() -> None:
    log = io.StringIO()
    line = ProgressLine(log)
    line.show({"q": FakeQuery()}, 0.0)
    line.end({"q": FakeQuery()})
    assert log.getvalue().count("batch 3") == 2
