"""The end of a transaction as a coordinator's shard meets it in its own log: a record among others.

`PartitionLog` writes it as a control batch, the shard replays it as the end of that producer's transaction.
It is alone in its outcome: a control batch has one record.
"""

from typing import NamedTuple


class EndMarker(NamedTuple):
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    """Of the transaction coordinator: a marker of one that was replaced is refused."""
    is_commit: bool
    transaction_version: int = 0
    """From 2 on the marker's epoch is above that of the records it ends (KIP-890)."""
