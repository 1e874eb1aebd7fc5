import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.base.deferred import Deferred
from barnabas.base.deferred_tasks import awaited, started
from barnabas.base.errors import NotCoordinator, UnknownServerError


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def test_a_task_waits_for_a_result() -> None:
    async def scenario() -> None:
        answer: Deferred[int] = Deferred()
        task = asyncio.ensure_future(awaited(answer))
        await asyncio.sleep(0)
        assert not task.done()
        answer.complete(7)
        assert await task == 7
        assert await awaited(Deferred.of(8)) == 8

    run(scenario)


def test_a_task_gets_the_error_of_a_result() -> None:
    async def scenario() -> None:
        answer: Deferred[int] = Deferred()
        task = asyncio.ensure_future(awaited(answer))
        await asyncio.sleep(0)
        answer.fail(NotCoordinator("moved"))
        with pytest.raises(NotCoordinator, match="moved"):
            await task

    run(scenario)


def test_a_result_set_after_its_task_was_cancelled_does_no_harm() -> None:
    async def scenario() -> None:
        answer: Deferred[int] = Deferred()
        task = asyncio.ensure_future(awaited(answer))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        answer.complete(7)
        assert answer.result() == 7

    run(scenario)


@pytest.mark.parametrize(
    ("error", "expected"), [(NotCoordinator("moved"), NotCoordinator), (OSError("full"), UnknownServerError)]
)
def test_the_error_of_a_task_is_that_of_its_result(error: Exception, expected: type[Exception]) -> None:
    async def work(is_refused: bool) -> int:
        await asyncio.sleep(0)
        if is_refused:
            raise error
        return 7

    async def scenario() -> None:
        assert await awaited(started(work(False))) == 7
        refused = started(work(True))
        with pytest.raises(expected, match=str(error)):
            await awaited(refused)

    run(scenario)
