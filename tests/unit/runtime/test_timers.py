from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.clock import ManualClock
from barnabas.runtime.outcome import NOTHING, Outcome
from barnabas.runtime.timers import Timers


def nothing() -> Outcome[None]:
    return NOTHING


def keys_due(timers: Timers) -> list[str]:
    return [key[0] for key, _ in timers.due()]


def test_what_is_due_comes_once_in_the_order_of_the_deadlines() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    timers.schedule(("b",), 20, nothing)
    timers.schedule(("a",), 10, nothing)
    timers.schedule(("c",), 30, nothing)
    clock.advance(20)
    assert keys_due(timers) == ["a", "b"]
    assert keys_due(timers) == []
    assert len(timers) == 1


def test_a_deadline_that_is_put_off_is_due_at_the_later_time_only() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    timers.schedule(("a",), 10, nothing)
    clock.advance(5)
    timers.schedule(("a",), 10, nothing)
    clock.advance(5)
    assert keys_due(timers) == []
    assert timers.next_deadline_ms() == timers.now_ms() + 5
    clock.advance(5)
    assert keys_due(timers) == ["a"]


def test_a_deadline_that_is_brought_forward_is_due_at_the_earlier_time_only() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    timers.schedule(("a",), 50, nothing)
    timers.schedule(("a",), 10, nothing)
    clock.advance(10)
    assert keys_due(timers) == ["a"]
    clock.advance(50)
    assert keys_due(timers) == []


def test_a_cancelled_deadline_never_comes() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    timers.schedule(("a",), 10, nothing)
    timers.cancel(("a",))
    timers.cancel(("never there",))
    clock.advance(100)
    assert keys_due(timers) == []
    assert not timers.is_scheduled(("a",))


def test_a_deadline_set_while_others_are_run_waits_for_the_next_call() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    timers.schedule(("a",), 10, nothing)
    clock.advance(10)
    for _ in timers.due():
        timers.schedule(("a",), 0, nothing)
    assert keys_due(timers) == ["a"]


def test_an_earlier_deadline_is_announced_and_a_later_one_is_not() -> None:
    announced: list[int | None] = []
    timers = Timers(ManualClock())
    timers.on_earlier = lambda: announced.append(timers.next_deadline_ms())
    timers.schedule(("a",), 30, nothing)
    timers.schedule(("b",), 40, nothing)
    timers.schedule(("c",), 10, nothing)
    timers.schedule_if_absent(("c",), 1, nothing)
    now = timers.now_ms()
    assert announced == [now + 30, now + 10]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(0, 30)), max_size=60))
def test_every_deadline_comes_at_its_last_setting(steps: list[tuple[str, int, int]]) -> None:
    clock = ManualClock()
    timers = Timers(clock)
    expected: dict[str, int] = {}
    for name, delay_ms, pause_ms in steps:
        timers.schedule((name,), delay_ms, nothing)
        expected[name] = timers.now_ms() + delay_ms
        clock.advance(pause_ms)
        came = sorted(keys_due(timers))
        assert came == sorted(each for each, at_ms in expected.items() if at_ms <= timers.now_ms())
        for each in came:
            del expected[each]
        following = timers.next_deadline_ms()
        assert following is None or not expected or following <= min(expected.values())
