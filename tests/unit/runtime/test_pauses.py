from collections.abc import Callable

from barnabas.runtime.pauses import end_of_turn, pause


class Handle:
    def cancel(self) -> None:
        pass


def test_a_pause_is_over_when_its_time_is() -> None:
    scheduled: list[tuple[float, Callable[[], None]]] = []

    def call_later(seconds: float, callback: Callable[[], None]) -> Handle:
        scheduled.append((seconds, callback))
        return Handle()

    over = pause(call_later, 0.5)
    assert not over.is_done
    [(seconds, callback)] = scheduled
    callback()
    assert seconds == 0.5
    assert over.is_done


def test_a_turn_is_over_when_the_loop_says_so() -> None:
    soon: list[Callable[[], None]] = []
    over = end_of_turn(soon.append)
    assert not over.is_done
    soon[0]()
    assert over.is_done
