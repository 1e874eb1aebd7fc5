"""Which error the next run of a stream must end with, or may; and which error it was."""

from dataclasses import dataclass, field

from tests.faults.stream_life.driver import Poison
from tests.faults.stream_life.source_model import Position, SourceModel
from tests.faults.stream_life.stream import Stream

POISON, LOSS, STALE = "poison", "data loss", "stale batch"
_LOSSES = ("DataLoss", "TopicRecreated", "OffsetOutOfRange")
_STALE = ("StaleBatch",)


@dataclass(slots=True)
class Demand:
    must: set[str] = field(default_factory=set)
    """If there are any, the run ends with one of them."""
    may: set[str] = field(default_factory=set)


def demand_of(stream: Stream, source: SourceModel) -> Demand:
    demand = Demand()
    checkpoint = stream.checkpoint
    logged, done = checkpoint.position(checkpoint.last_logged), checkpoint.position(checkpoint.last_committed)
    unread = source.between(done, source.position)
    if not stream.skips_poison and any(record.is_poison for record in unread):
        demand.must.add(POISON)
    if stream.fails_on_data_loss:
        if source.lost(logged, source.position):
            demand.must.add(LOSS)
        elif checkpoint.has_pending and _loses_pending(stream, source):
            demand.may.add(LOSS)
    if stream.suspicion:
        demand.may.add(STALE)
    return demand


def _loses_pending(stream: Stream, source: SourceModel) -> bool:
    """Whether a batch that was planned cannot be read whole: it may be in the target already."""
    last = stream.checkpoint.last_logged
    end = stream.checkpoint.position(last)
    if end is None:
        return False
    begin = stream.checkpoint.position(last - 1) or Position(end.incarnation, ())  # the first batch
    return source.lost(begin, end)


def kind_of(error: Exception) -> str:
    """The name of the error where it is none that a model can demand."""
    if isinstance(error, Poison):
        return POISON
    name = type(error).__name__
    if name in _LOSSES:
        return LOSS
    return STALE if name in _STALE else f"{name}: {error}"
