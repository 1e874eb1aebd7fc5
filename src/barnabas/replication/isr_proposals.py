"""Changes of in-sync sets on their way to the controller (Kafka's AlterPartitionManager).

A leader hands over a proposal; all proposals that wait are sent together, one request at a time. A request
that fails or gets no answer is repeated until the controller has answered: a proposal that may have been
written still counts. The answer to a proposal goes to the partition, which knows whether it still leads.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.metadata.isr_proposal import IsrProposal, IsrResult

logger = logging.getLogger("replication")

Send = Callable[[Sequence[IsrProposal]], Awaitable[Sequence[IsrResult]]]
"""Ask the controller. Raises KafkaError or OSError (a timeout, too) if there was no answer."""

_BACKOFF_SECONDS = 0.05
_MAX_BACKOFF_SECONDS = 1.0

REFUSED = frozenset({ErrorCode.ineligible_replica, ErrorCode.operation_not_attempted})
"""The controller has definitely not written the proposal: the state before it is in force."""
OBSOLETE = frozenset(
    {
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.unknown_topic_id,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.invalid_update_version,
        ErrorCode.invalid_request,
        ErrorCode.new_leader_elected,
    }
)
"""The leader knows an old state. The next change of the metadata replaces the proposal."""


class Proposer(Protocol):
    """The partition that made a proposal."""

    @property
    def topic_partition(self) -> TopicPartition: ...

    def on_isr_answer(self, result: IsrResult) -> None:
        """The controller has answered: it has written the proposal, or refused it."""
        ...


class IsrProposals:
    """Belongs to the event loop's thread."""

    def __init__(self, send: Send) -> None:
        self._send: Send = send
        self._waiting: dict[TopicPartition, tuple[Proposer, IsrProposal]] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, proposer: Proposer, proposal: IsrProposal) -> None:
        """Send the proposal. It replaces an older one of the same partition."""
        self._waiting[proposer.topic_partition] = proposer, proposal
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def is_busy(self) -> bool:
        """Proposals wait for the controller's answer."""
        return self._task is not None

    async def stop(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        backoff = _BACKOFF_SECONDS
        while self._waiting:
            sent = dict(self._waiting)
            is_answered = await self._send_once(sent)
            if is_answered:
                backoff = _BACKOFF_SECONDS
            else:
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, _MAX_BACKOFF_SECONDS)
        self._task = None

    async def _send_once(self, sent: dict[TopicPartition, tuple[Proposer, IsrProposal]]) -> bool:
        """Returns whether every proposal has its answer."""
        try:
            results = await self._send([proposal for _, proposal in sent.values()])
        except (KafkaError, OSError) as error:
            logger.debug("The controller did not answer to %d ISR changes: %s", len(sent), error)
            return False
        except Exception:
            logger.exception("Unexpected error while ISR changes were sent to the controller; retrying")
            return False
        answers = {(each.proposal.topic_id, each.proposal.partition): each for each in results}
        is_answered = True
        for topic_partition, (proposer, proposal) in sent.items():
            result = answers.get((proposal.topic_id, proposal.partition))
            if result is None or not _is_final(result.error):
                is_answered = False
                continue
            if self._waiting.get(topic_partition) == (proposer, proposal):
                del self._waiting[topic_partition]
            proposer.on_isr_answer(result)
        return is_answered


def _is_final(error: ErrorCode) -> bool:
    return error is ErrorCode.none or error in REFUSED or error in OBSOLETE
