"""So many a second and no more."""

from barnabas.cli.messages.pace import Pace


class _Time:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_sender_ahead_of_the_rate_sleeps() -> None:
    time = _Time()
    pace = Pace(100, time.clock, time.sleep)
    for count in range(1, 201):
        pace.wait(count)
    assert abs(time.now - 2.0) < 0.01


def test_sender_behind_the_rate_does_not() -> None:
    time = _Time()
    pace = Pace(100, time.clock, time.sleep)
    time.now = 10.0
    pace.wait(500)
    assert time.slept == []


def test_without_a_rate_there_is_no_sleep() -> None:
    time = _Time()
    Pace(-1, time.clock, time.sleep).wait(1_000_000)
    assert time.slept == []
