"""A transactional producer: some records in some partitions, then a commit or an abort, again and again.

Whatever goes wrong within a transaction, it begins anew with InitProducerId, which ends the transaction of
the epoch before. A commit that was requested and not answered may have happened.
"""

from collections.abc import Sequence

from tests.simulation.clients.cluster_client import ClusterClient, Unavailable
from tests.simulation.clients.producer import Producer
from tests.simulation.history import History, Outcome, Transaction
from tests.simulation.network import Address

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition

_TRANSACTION = 1
_PATIENCE_SECONDS = 60.0
_TIMEOUT_MS = 30_000
_INIT_PRODUCER_ID, _END_TXN = 4, 5


class TransactionalProducer:
    def __init__(self, client: ClusterClient, history: History) -> None:
        self._client: ClusterClient = client
        self._history: History = history
        self._producer: Producer = Producer(client, history)
        self._producer.transactional_id = client.name

    async def run_transaction(self, partitions: Sequence[TopicPartition]) -> None:
        try:
            if self._producer.producer_id < 0:
                await self._initialise()
            await self._write_and_end(partitions)
        except Unavailable:
            self._producer.begin_anew()

    async def _initialise(self) -> None:
        async def send(coordinator: Address) -> object:
            return await self._client.call(
                coordinator,
                "init_producer_id",
                _INIT_PRODUCER_ID,
                transactional_id=self._client.name,
                transaction_timeout=_TIMEOUT_MS,
                producer_id=-1,
                producer_epoch=-1,
            )

        answer, _ = await self._client.of_coordinator(
            _TRANSACTION, self._client.name, send, _PATIENCE_SECONDS
        )
        if answer.error_code:
            raise Unavailable(f"InitProducerId: {ErrorCode(answer.error_code).name}")
        self._producer.begin_anew(answer.producer_id, answer.producer_epoch)

    async def _write_and_end(self, partitions: Sequence[TopicPartition]) -> None:
        transaction = self._history.begin_transaction()
        rng = self._client.rng
        is_whole = True
        for partition in rng.sample(partitions, rng.randint(1, len(partitions))):
            write = await self._producer.produce(partition, rng.randint(1, 3), transaction)
            is_whole = is_whole and write.outcome is Outcome.DONE
        if not is_whole:
            raise Unavailable("a write of the transaction was not acknowledged")
        await self._end(transaction, is_commit=rng.random() < 0.7)

    async def _end(self, transaction: Transaction, *, is_commit: bool) -> None:
        if is_commit:
            transaction.commit = Outcome.UNKNOWN

        async def send(coordinator: Address) -> object:
            return await self._client.call(
                coordinator,
                "end_txn",
                _END_TXN,
                transactional_id=self._client.name,
                producer_id=self._producer.producer_id,
                producer_epoch=self._producer.producer_epoch,
                committed=is_commit,
            )

        answer, _ = await self._client.of_coordinator(
            _TRANSACTION, self._client.name, send, _PATIENCE_SECONDS
        )
        if answer.error_code:
            raise Unavailable(f"EndTxn: {ErrorCode(answer.error_code).name}")
        if is_commit:
            transaction.commit = Outcome.DONE
        # Transactions of version 2 (KIP-890): every transaction has an epoch of its own.
        self._producer.begin_anew(answer.producer_id, answer.producer_epoch)
