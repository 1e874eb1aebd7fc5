"""The bridge between results (`base.deferred`) and the tasks of the event loop.

Work in threads and in the metadata store is awaited by tasks. Everything else that a request waits for is a
`Deferred`. Only these functions turn one into the other.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError, UnknownServerError, error_of

T = TypeVar("T")

_tasks: set[asyncio.Task[None]] = set()
"""The loop holds its tasks weakly."""


async def awaited(answer: Deferred[T]) -> T:
    """The value, once it is there; raises the error it failed with."""
    if not answer.is_done:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answer.when_done(lambda _: None if done.done() else done.set_result(None))
        await done
    return answer.result()


def started(work: Coroutine[Any, Any, T]) -> Deferred[T]:
    """Run `work` as a task of the running loop. Every exception becomes the error of the result."""
    answer: Deferred[T] = Deferred()

    async def run() -> None:
        try:
            value = await work
        except KafkaError as error:
            answer.fail(error)
        except Exception as error:  # noqa: BLE001  the waiting request fails with it
            answer.fail(UnknownServerError(error_of(error)[1]))
        else:
            answer.complete(value)

    task = asyncio.get_running_loop().create_task(run())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return answer
