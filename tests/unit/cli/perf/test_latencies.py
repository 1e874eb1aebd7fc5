import pytest

from barnabas.cli.perf.latencies import Latencies, Total, total_line, window_line


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _latencies(clock: _Clock, expected: int = 100, interval: float = 1e9) -> tuple[Latencies, list[Total]]:
    windows: list[Total] = []
    return Latencies(
        expected, interval, lambda window, is_first: windows.append(window), clock=clock
    ), windows


def test_total_has_rates_mean_maximum_and_percentiles() -> None:
    clock = _Clock()
    counted, _ = _latencies(clock, 1000)
    for latency in range(1000):
        counted.record(clock.now - (latency + 0.5) / 1000, 1024 * 1024)
    clock.now += 2
    total = counted.total()
    assert total.records == 1000
    assert total.records_per_second == 500
    assert total.megabytes_per_second == 500
    assert total.mean_ms == pytest.approx(499.5)
    assert total.max_ms == 999
    assert total.percentiles_ms == (500, 950, 990, 999)


def test_windows_are_counted_separately() -> None:
    clock = _Clock()
    counted, windows = _latencies(clock, interval=5)
    counted.record(clock.now - 0.010, 100)
    clock.now += 5
    counted.record(clock.now - 0.030, 100)
    clock.now += 5
    counted.record(clock.now - 0.0204, 300)
    assert [(each.records, each.size, each.mean_ms, each.max_ms) for each in windows] == [
        (2, 200, 20.0, 30),
        (1, 300, 20.0, 20),
    ]


def test_first_window_is_marked_and_silence_is_kept() -> None:
    clock = _Clock()
    reported: list[bool] = []
    counted = Latencies(10, 1, lambda window, is_first: reported.append(is_first), clock=clock)
    for _ in range(3):
        clock.now += 1
        counted.record(clock.now, 1)
    counted.is_silent = True
    clock.now += 1
    counted.record(clock.now, 1)
    assert reported == [True, False, False]


def test_a_long_test_keeps_a_sample() -> None:
    clock = _Clock()
    counted, _ = _latencies(clock, 2_000_000)
    for latency in (1, 500, 500, 500, 2, 500, 500, 500):
        counted.record(clock.now - latency / 1000 - 1e-6, 1)
    assert counted.total().percentiles_ms == (2, 2, 2, 2)
    assert counted.total().max_ms == 500


def test_lines_are_kafkas() -> None:
    total = Total(300, 2.0, 3 * 1024 * 1024, 12.345, 99, (1, 2, 3, 4))
    assert window_line(total) == (
        "300 records sent, 150.0 records/sec (1.50 MB/sec), 12.3 ms avg latency, 99.0 ms max latency."
    )
    assert total_line(total, is_steady_state=True) == (
        "300 steady state records sent, 150.000000 records/sec (1.50 MB/sec), 12.35 ms avg latency, "
        "99.00 ms max latency, 1 ms 50th, 2 ms 95th, 3 ms 99th, 4 ms 99.9th."
    )


def test_nothing_acknowledged_is_no_division_by_zero() -> None:
    assert _latencies(_Clock())[0].total() == Total(0, 0.0, 0, 0.0, 0, (0, 0, 0, 0))
