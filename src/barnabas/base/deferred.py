"""An answer that is not there yet: given once, with a value or an error, and told to whoever waits.

Knows no event loop, so that the coordinators, which park requests, need none. Callbacks run at once, in the
order in which they came, in the call that gives the answer.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from barnabas.base.errors import KafkaError

T = TypeVar("T")
U = TypeVar("U")


class Deferred(Generic[T]):
    __slots__ = ("_callbacks", "_value", "error", "is_done")

    def __init__(self) -> None:
        self.is_done: bool = False
        self.error: KafkaError | None = None
        self._value: T | None = None
        self._callbacks: list[Callable[[Deferred[T]], None]] = []

    @classmethod
    def of(cls, value: T) -> "Deferred[T]":
        """An answer that is there already."""
        deferred = cls()
        deferred.complete(value)
        return deferred

    def complete(self, value: T) -> None:
        self._settle(value, None)

    def fail(self, error: KafkaError) -> None:
        self._settle(None, error)

    def _settle(self, value: T | None, error: KafkaError | None) -> None:
        if self.is_done:
            raise AssertionError("an answer is given once")
        self.is_done, self._value, self.error = True, value, error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def when_done(self, callback: "Callable[[Deferred[T]], None]") -> None:
        if self.is_done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def map(self, of_value: Callable[[T], U], of_error: Callable[[KafkaError], U]) -> "Deferred[U]":
        """The same answer in other words; an error may become a value too."""
        answer: Deferred[U] = Deferred()

        # Quoted, as all annotations of inner functions here: they would be evaluated in every call.
        def on_done(done: "Deferred[T]") -> None:
            try:
                value = of_value(done.result()) if done.error is None else of_error(done.error)
            except KafkaError as error:
                answer.fail(error)
            else:
                answer.complete(value)

        self.when_done(on_done)
        return answer

    def then(self, of_value: Callable[[T], U]) -> "Deferred[U]":
        """The same for a value; an error stays what it is."""

        def raise_again(error: KafkaError) -> U:
            raise error

        return self.map(of_value, raise_again)

    def result(self) -> T:
        """The value; raises the error it failed with. Only once it is done."""
        if self.error is not None:
            raise self.error
        if not self.is_done:
            raise AssertionError("there is no answer yet")
        return self._value  # type: ignore[return-value]


def gather(answers: Sequence[Deferred[T]]) -> Deferred[list[T]]:
    """Done when all are: with their values, or with the first error among them."""
    combined: Deferred[list[T]] = Deferred()
    waiting = len(answers)

    def on_done(_: "Deferred[T]") -> None:
        nonlocal waiting
        waiting -= 1
        if waiting == 0:
            _settle()

    def _settle() -> None:
        error = next((each.error for each in answers if each.error is not None), None)
        if error is not None:
            combined.fail(error)
        else:
            combined.complete([each.result() for each in answers])

    if not answers:
        combined.complete([])
    for answer in answers:
        answer.when_done(on_done)
    return combined
