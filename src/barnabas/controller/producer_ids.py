"""Producer ids, unique in the cluster and never reused.

Blocks of 1,000 are taken from `/latest_producer_id_block` by compare-and-set, so brokers that share the store
never assign the same id. The rest of a block is lost when the broker stops, as in Kafka.
"""

import threading

from barnabas.base.errors import UnknownServerError
from barnabas.metadata import nodes, paths
from barnabas.metadata.nodes import ProducerIdBlock
from barnabas.metadata.store import BadVersion, MetadataStore, NodeExists, NoNode

BLOCK_SIZE = 1000
_MAX_PRODUCER_ID = 2**63 - 1


class ProducerIds:
    """Thread-safe. Only every thousandth id needs the store."""

    def __init__(self, store: MetadataStore, broker_id: int) -> None:
        self._store: MetadataStore = store
        self._broker_id: int = broker_id
        self._lock: threading.Lock = threading.Lock()
        self._next: int = 0
        self._last: int = -1

    def next_producer_id(self) -> int:
        """Returns a new id. May wait for the store."""
        with self._lock:
            if self._next > self._last:
                block = take_block(self._store, self._broker_id)
                self._next, self._last = block.first, block.last
            return self._take()

    def next_if_ready(self) -> int | None:
        """Returns a new id without waiting, or None if a new block must be fetched first."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._take() if self._next <= self._last else None
        finally:
            self._lock.release()

    def _take(self) -> int:
        producer_id = self._next
        self._next += 1
        return producer_id


def take_block(store: MetadataStore, broker_id: int, *, beyond: int = -1) -> ProducerIdBlock:
    """Claim the next block for this broker. It starts after `beyond`, such as an id in an adopted log."""
    while True:
        latest, version = _latest_block(store)
        first = max(latest.last, beyond) + 1
        last = first + BLOCK_SIZE - 1
        if last > _MAX_PRODUCER_ID:
            raise UnknownServerError("All producer ids are used up")
        block = ProducerIdBlock(broker_id, first, last)
        data = nodes.encode_producer_id_block(block)
        try:
            if version is None:
                store.create(paths.PRODUCER_ID_BLOCK, data)
            else:
                store.set(paths.PRODUCER_ID_BLOCK, data, version)
            return block
        except (NodeExists, BadVersion, NoNode):
            continue  # Another broker has taken this block.


def _latest_block(store: MetadataStore) -> tuple[ProducerIdBlock, int | None]:
    nothing = ProducerIdBlock(-1, -1, -1)
    try:
        data, stat = store.get(paths.PRODUCER_ID_BLOCK)
    except NoNode:
        return nothing, None
    if not data:
        return nothing, stat.version
    return nodes.read(paths.PRODUCER_ID_BLOCK, data, nodes.decode_producer_id_block), stat.version
