"""The end of a transaction as a record in the log of a coordinator's shard.

`PartitionLog` writes it as a control batch. The shard replays it as the end of that producer's transaction.
It is the only record of its outcome: a control batch has one record.
"""

from typing import NamedTuple


class EndMarker(NamedTuple):
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    """The epoch of the transaction coordinator. The marker of a replaced coordinator is fenced."""
    is_commit: bool
    transaction_version: int = 0
    """From 2 on, the marker's epoch is higher than that of the records it ends (KIP-890)."""
