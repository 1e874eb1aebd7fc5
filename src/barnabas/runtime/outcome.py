"""The result of a request to a shard: records to write, and an answer.

A shard's function reads its state and returns an `Outcome`. It changes no durable state. The runtime appends
the records in one batch and replays each of them on the shard (`replay` alone changes durable state, at load
and live). It gives the answer when the records are committed. If the append fails, nothing has changed, and
nothing has to be undone.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from barnabas.base.deferred import Deferred

T = TypeVar("T")


class TransactionalProducer(NamedTuple):
    """The producer whose transaction the records of an outcome are part of."""

    producer_id: int
    producer_epoch: int


class Outcome(NamedTuple, Generic[T]):
    response: T | Deferred[T]
    """A plain value is the answer once the records are committed. A `Deferred` is completed by the shard."""
    records: Sequence[Any] = ()
    is_atomic: bool = True
    """The records are one batch: all or none. Cleanup records need not be atomic, and may be larger."""
    on_replayed: Callable[[], None] | None = None
    """Called after the records are replayed, before any other operation, and never at load.

    For the soft state that follows from them: deadlines, and requests that wait."""
    written: Deferred[None] | None = None
    """Set once, before the response: when the records are committed, or with the error of the write."""
    producer: TransactionalProducer | None = None
    """If set, the records are a transactional batch of this producer, valid once its marker commits them."""


def written(then: Callable[[Deferred[None]], object]) -> Deferred[None]:
    """The `written` of an outcome after whose write the shard goes on with `then`."""
    result: Deferred[None] = Deferred()
    result.when_done(then)
    return result


NOTHING: Outcome[None] = Outcome(None)
