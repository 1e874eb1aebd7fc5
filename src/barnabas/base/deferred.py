"""A result that may come later: the one shape of everything that a request waits for in the broker.

It is set once, to a value or an error. The call that sets the result runs the callbacks, in the order in
which they were registered. It uses no event loop, thread or time, so whatever waits here runs the same way in
a broker and in a simulation.

Work of several steps is a coroutine that awaits results; `in_sequence` makes it a function that returns a
result:

    @in_sequence
    async def end(...) -> Reply:
        fresh_id = await fresh_producer_id(...)
        result = await coordinator.write(...)
        return Reply(...)

The coroutine runs at once, in the caller's turn, up to the first result that is not there yet, and goes on in
the call that sets that result. There is no task. A `KafkaError` that it raises is its result. It may await
results only: `base.deferred_tasks` connects results to tasks of the event loop.
"""

import logging
from collections.abc import Callable, Coroutine, Generator, Sequence
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

from barnabas.base.errors import KafkaError, UnknownServerError

logger = logging.getLogger("requests")

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")


class Deferred(Generic[T]):
    __slots__ = ("_callbacks", "_value", "error", "is_done")

    def __init__(self) -> None:
        self.is_done: bool = False
        self.error: KafkaError | None = None
        self._value: T | None = None
        self._callbacks: list[Callable[[Deferred[T]], object]] | None = None

    @classmethod
    def of(cls, value: T) -> "Deferred[T]":
        """Returns a result that is set already."""
        deferred = cls()
        deferred.is_done, deferred._value = True, value
        return deferred

    @classmethod
    def failed(cls, error: KafkaError) -> "Deferred[T]":
        """Returns a result that is an error already."""
        deferred = cls()
        deferred.is_done, deferred.error = True, error
        return deferred

    def complete(self, value: T) -> None:
        self._settle(value, None)

    def fail(self, error: KafkaError) -> None:
        self._settle(None, error)

    def _settle(self, value: T | None, error: KafkaError | None) -> None:
        if self.is_done:
            raise AssertionError("a result is set once")
        self.is_done, self._value, self.error = True, value, error
        callbacks = self._callbacks
        if callbacks is not None:
            self._callbacks = None
            for callback in callbacks:
                callback(self)

    def when_done(self, callback: "Callable[[Deferred[T]], object]") -> None:
        if self.is_done:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def settle_as(self, done: "Deferred[T]") -> None:
        """Take the result of another one that is done. `other.when_done(answer.settle_as)` passes it on."""
        if done.error is None:
            self.complete(done.result())
        else:
            self.fail(done.error)

    def __await__(self) -> "Generator[Deferred[T], None, T]":
        if not self.is_done:
            yield self
        return self.result()

    def map(self, of_value: Callable[[T], U], of_error: Callable[[KafkaError], U]) -> "Deferred[U]":
        """Returns a result with the converted value. An error may become a value too."""
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


def in_sequence(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Deferred[T]]:
    """Decorates a coroutine function that awaits results only. A call starts it and returns its result."""

    @wraps(function)
    def start(*args: P.args, **kwargs: P.kwargs) -> "Deferred[T]":
        return _Sequence(function(*args, **kwargs)).start()

    return start


class _Sequence(Generic[T]):
    __slots__ = ("_coroutine", "_result")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine: Coroutine[Any, Any, T] = coroutine
        self._result: Deferred[T] | None = None

    def start(self) -> Deferred[T]:
        done = self._advance()
        if done is not None:
            return done
        self._result = Deferred()
        return self._result

    def _resume(self, _: Deferred[Any]) -> None:
        done = self._advance()
        if done is not None and self._result is not None:
            self._result.settle_as(done)

    def _advance(self) -> Deferred[T] | None:
        """Run up to the next result that is not there yet. Returns the result of the whole, if it is over."""
        try:
            awaited: Deferred[Any] = self._coroutine.send(None)
        except StopIteration as end:
            return Deferred.of(end.value)
        except KafkaError as error:
            return Deferred.failed(error)
        except Exception as error:
            logger.exception("Unexpected error in %s", self._coroutine)
            return Deferred.failed(UnknownServerError(f"{type(error).__name__}: {error}"))
        awaited.when_done(self._resume)
        return None
