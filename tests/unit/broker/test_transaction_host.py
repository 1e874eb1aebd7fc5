import asyncio
from collections.abc import Callable
from typing import Any, cast

from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.store_thread import StoreThread
from barnabas.broker.transaction_host import TransactionHost
from barnabas.controller.producer_ids import ProducerIds


class Ids:
    """Producer ids whose next block must be fetched."""

    def __init__(self) -> None:
        self.fetched: int = 0

    def next_if_ready(self) -> int | None:
        return 1001 if self.fetched else None

    def next_producer_id(self) -> int:
        self.fetched += 1
        return 1000


class Store:
    async def run(self, function: Callable[[], int]) -> int:
        await asyncio.sleep(0)
        return function()


def test_missing_producer_id_fetches_a_block_once() -> None:
    async def scenario() -> None:
        ids, nothing = Ids(), cast(Any, None)
        host = TransactionHost(
            nothing,
            nothing,
            nothing,
            nothing,
            LoopHolds(),
            nothing,
            nothing,
            cast(ProducerIds, ids),
            cast(StoreThread, Store()),
        )
        assert [host._take_producer_id() for _ in range(3)] == [None] * 3
        await host.stop()
        assert ids.fetched == 1
        assert host._take_producer_id() == 1001

    asyncio.run(scenario())
