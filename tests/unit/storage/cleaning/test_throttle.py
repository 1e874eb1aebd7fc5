"""The bound on bytes a second."""

from barnabas.storage.cleaning.job import NO_LIMIT
from barnabas.storage.cleaning.throttle import Throttle


class FakeTime:
    def __init__(self) -> None:
        self.now: float = 0.0
        self.slept: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.now += seconds


def test_bytes_take_the_time_that_the_rate_gives_them() -> None:
    time = FakeTime()
    throttle = Throttle(1000, monotonic=time.monotonic, sleep=time.sleep)
    for _ in range(50):
        throttle.note(100)
        time.now += 0.01
    assert 4.5 <= time.now <= 5.5


def test_without_a_limit_there_is_no_sleep() -> None:
    time = FakeTime()
    throttle = Throttle(NO_LIMIT, monotonic=time.monotonic, sleep=time.sleep)
    throttle.note(1 << 60)
    assert time.slept == 0
