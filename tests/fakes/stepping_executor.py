"""An executor that runs nothing by itself: the test decides when a thread gets its turn."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class SteppingExecutor(Executor):
    def __init__(self) -> None:
        self.waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: fn(*args, **kwargs)))
        return future

    def step(self) -> None:
        """Run what was submitted first."""
        future, work = self.waiting.popleft()
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001  an executor hands it over
            future.set_exception(error)
