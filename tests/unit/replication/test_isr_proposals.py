import asyncio
from collections.abc import Sequence
from uuid import UUID

from tests.unit.replication.support import run

from barnabas.base.errors import ErrorCode, NotController
from barnabas.base.ids import TopicPartition
from barnabas.metadata.isr_proposal import IsrProposal, IsrResult
from barnabas.replication.isr_proposals import IsrProposals

TOPIC = UUID(int=7)


class Proposer:
    def __init__(self, partition: int) -> None:
        self.topic_partition: TopicPartition = TopicPartition("t", partition)
        self.answers: list[ErrorCode] = []

    def on_isr_answer(self, result: IsrResult) -> None:
        self.answers.append(result.error)


class Controller:
    """Answers as scripted: an error for each request, then success."""

    def __init__(self, *script: Exception | ErrorCode) -> None:
        self._script: list[Exception | ErrorCode] = list(script)
        self.requests: list[list[IsrProposal]] = []

    async def answer(self, proposals: Sequence[IsrProposal]) -> Sequence[IsrResult]:
        self.requests.append(list(proposals))
        await asyncio.sleep(0)
        scripted = self._script.pop(0) if self._script else ErrorCode.none
        if isinstance(scripted, Exception):
            raise scripted
        return [IsrResult(each, scripted) for each in proposals]


def proposal(partition: int, partition_epoch: int = 0) -> IsrProposal:
    return IsrProposal(TOPIC, partition, 0, partition_epoch, ((1, -1),))


async def settle(proposals: IsrProposals) -> None:
    async with asyncio.timeout(10):
        while proposals.is_busy:
            await asyncio.sleep(0.001)


def test_proposals_that_wait_are_sent_together() -> None:
    async def scenario() -> None:
        controller, proposers = Controller(), [Proposer(number) for number in range(3)]
        proposals = IsrProposals(controller.answer)
        for each in proposers:
            proposals.add(each, proposal(each.topic_partition.partition))
        await settle(proposals)
        assert [len(request) for request in controller.requests] == [3]
        assert [each.answers for each in proposers] == [[ErrorCode.none]] * 3

    run(scenario)


def test_proposal_without_an_answer_is_repeated() -> None:
    async def scenario() -> None:
        controller = Controller(OSError("cut"), NotController(), TimeoutError(), ErrorCode.not_controller)
        proposer = Proposer(0)
        proposals = IsrProposals(controller.answer)
        proposals.add(proposer, proposal(0))
        await settle(proposals)
        assert controller.requests == [[proposal(0)]] * 5
        assert proposer.answers == [ErrorCode.none]

    run(scenario)


def test_refusal_is_passed_on_and_not_repeated() -> None:
    async def scenario() -> None:
        controller, proposer = Controller(ErrorCode.ineligible_replica), Proposer(0)
        proposals = IsrProposals(controller.answer)
        proposals.add(proposer, proposal(0))
        await settle(proposals)
        assert len(controller.requests) == 1
        assert proposer.answers == [ErrorCode.ineligible_replica]

    run(scenario)


def test_newer_proposal_of_a_partition_is_sent_after_the_older_one() -> None:
    async def scenario() -> None:
        controller, proposer = Controller(), Proposer(0)
        proposals = IsrProposals(controller.answer)
        proposals.add(proposer, proposal(0, 1))
        await asyncio.sleep(0)
        proposals.add(proposer, proposal(0, 2))
        await settle(proposals)
        assert controller.requests == [[proposal(0, 1)], [proposal(0, 2)]]

    run(scenario)
