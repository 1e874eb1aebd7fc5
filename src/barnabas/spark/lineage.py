"""Where a batch comes from, and whether it may be written after what was decided before.

Spark gives a sink a query id and a batch number. Both are the same again when a batch is replayed after a
crash, when a checkpoint was restored from a backup, and on a copy of a checkpoint. Only the first may be
taken for done. Three facts distinguish them, each recorded with a decision:

- the *run*: Spark's id of one start of a query. A run that another one has followed never comes back, so one
  that does is a zombie, or one of two copies;
- the *plan*: a digest of the file in which Spark records the offsets of a batch before it runs it. A replay
  reads the same file; a checkpoint that was rolled back has its batches planned anew;
- the *query*, for writes with a `txnAppId`: another query id under the same `txnAppId` and version means
  another checkpoint.

A fact that is missing on either side decides nothing. Nothing here does I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.client.errors import ClientError
from barnabas.spark.decisions import Decision
from barnabas.spark.sink_identity import SinkIdentity

MOST_RUNS = 8
"""Runs that are remembered after others took over."""
MOST_END_OFFSETS = 1500
"""Characters of end offsets that are recorded."""


class StaleBatch(ClientError):
    """The batch is not the next one, nor the last one again: writing or skipping it would be wrong."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Of one batch, as far as it is known."""

    run: str | None = None
    query: str | None = None
    plans: Mapping[int, str] = field(default_factory=dict)
    """Digests, by the number of the batch: of this one and of the one before it."""
    end_offsets: str | None = None


def check_lineage(sink: SinkIdentity, batch: int, lineage: Lineage, decided: Decision) -> None:
    """Raises StaleBatch unless the batch follows what was decided, or is the same one again."""
    if lineage.run is not None and lineage.run in decided.earlier_runs:
        raise StaleBatch(_taken_over(sink, batch, lineage.run, decided))
    if decided.batch > batch:
        if lineage.run is not None and lineage.run == decided.run:
            raise StaleBatch(
                f"Batch {batch} of {_name(sink)} is over: the same run has decided batch {decided.batch} "
                "since. This task outlived its batch. It wrote nothing."
            )
        raise StaleBatch(older_than(sink, batch, decided.batch, decided.end_offsets))
    if decided.batch == batch and _differ(lineage.query, decided.query):
        raise StaleBatch(
            f"Version {batch} of {_name(sink)} was written to {sink.target} by query {decided.query}, and "
            f"this is query {lineage.query}: its checkpoint is another one, and counts its batches anew. "
            f"Nothing was written. {_way_out(sink, decided.batch, decided.end_offsets)}"
        )
    if _differ(lineage.plans.get(decided.batch), decided.plan):
        raise StaleBatch(_planned_anew(sink, batch, decided))


def following(batch: int, lineage: Lineage, before: Decision | None) -> Decision:
    """The decision that comes after `before`, without owners."""
    earlier = () if before is None else before.earlier_runs
    if before is not None and before.run is not None and _differ(lineage.run, before.run):
        earlier = (*earlier, before.run)[-MOST_RUNS:]
    ends = lineage.end_offsets
    if ends is not None and len(ends) > MOST_END_OFFSETS:
        ends = None
    return Decision(batch, {}, lineage.run, earlier, lineage.query, lineage.plans.get(batch), ends)


def older_than(sink: SinkIdentity, batch: int, decided: int, end_offsets: str | None = None) -> str:
    """The message for a batch that is older than what the target has."""
    if sink.is_stream:
        reason = (
            "The checkpoint is older than what was written: it was restored from a backup, or it is a copy "
            "and the original went on. (If two drivers run on it, this is a zombie: stop it.)"
        )
        found = f"{sink.target} already has batch {decided} of {_name(sink)}, and this is batch {batch}. "
    else:
        reason = (
            "Versions of one txnAppId only grow: the checkpoint that counts them was deleted, restored from "
            "a backup or copied."
        )
        found = f"{sink.target} already has version {decided} of {_name(sink)}, and this is {batch}. "
    return f"{found}{reason} Nothing was written. {_way_out(sink, decided, end_offsets)}"


def _taken_over(sink: SinkIdentity, batch: int, run: str, decided: Decision) -> str:
    return (
        f"Run {run} of {_name(sink)} cannot write batch {batch} to {sink.target}: run {decided.run} took "
        f"over and decided batch {decided.batch}. Either this is a zombie, or two drivers run on one "
        "checkpoint or on copies of it. Nothing was written. Stop one of them; a copy that is to write "
        "beside its original needs a transactionalIdPrefix or a topic of its own."
    )


def _planned_anew(sink: SinkIdentity, batch: int, decided: Decision) -> str:
    return (
        f"{sink.target} already has a batch {decided.batch} of {_name(sink)}, which read other offsets than "
        f"batch {decided.batch} of this checkpoint. The checkpoint was restored from a backup and its "
        "batches were planned anew, or it is one of two copies that both went on. "
        f"Batch {batch} was not written. {_way_out(sink, decided.batch, decided.end_offsets)}"
    )


def _way_out(sink: SinkIdentity, decided: int, end_offsets: str | None) -> str:
    """What to do: without duplicates, and with them."""
    where = f"where batch {decided} ended" if end_offsets is None else f"at {end_offsets}, where it ended"
    if sink.is_stream:
        return (
            "To go on without writing rows twice, use the newest checkpoint, or a new one that starts "
            f"{where} (startingOffsets). To write the batches again, or to let a copy write beside its "
            "original, set transactionalIdPrefix to another value."
        )
    return (
        "To go on without writing rows twice, use the newest checkpoint, or a new one that starts where "
        f"version {decided} ended, and add {decided + 1} to its batch numbers for txnVersion. To write "
        "everything again, choose another txnAppId."
    )


def _name(sink: SinkIdentity) -> str:
    return f"query {sink.application}" if sink.is_stream else f"application {sink.application}"


def _differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other
