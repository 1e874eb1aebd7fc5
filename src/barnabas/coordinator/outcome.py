"""What comes of a request to a shard: records to write, and an answer.

A shard's function looks at its state, changes nothing of it that is durable, and returns an `Outcome`. The
runtime appends the records in one batch, replays each of them on the shard (`replay` alone changes durable
state, at load and live alike), and gives the answer when the records are committed. If the append fails
nothing was changed, so there is nothing to take back.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError

T = TypeVar("T")


class TransactionalProducer(NamedTuple):
    """Whose transaction the records of an outcome are part of."""

    producer_id: int
    producer_epoch: int


class Outcome(NamedTuple, Generic[T]):
    response: T | Deferred[T]
    """A plain value is told once the records are committed; a `Deferred` is the shard's to complete."""
    records: Sequence[Any] = ()
    is_atomic: bool = True
    """The records are one batch: all of them or none. Clearing up need not be, and may be larger."""
    on_written: Callable[[KafkaError | None], None] | None = None
    """Called once: with None when the records are committed, or with why they could not be."""
    producer: TransactionalProducer | None = None
    """Set: the records are a transactional batch of this producer, and count when its marker commits them."""


NOTHING: Outcome[None] = Outcome(None)
