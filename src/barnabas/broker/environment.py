"""What a broker takes from the outside world.

The defaults are the real ones. A simulation gives each of its brokers other ones, so that several brokers run
in one process, with their own files, time, randomness, threads and connections.
"""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.base.background_threads import BackgroundThreads
from barnabas.base.clock import Clock, SystemClock
from barnabas.base.filesystem import FileSystem
from barnabas.base.loop_holds import LoopHolds
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import MetadataStore
from barnabas.network.server import Listen, listening_socket
from barnabas.network.transport import Connect, tcp_connect


def _one_thread(name: str) -> Executor:
    return ThreadPoolExecutor(1, name)


@dataclass(frozen=True, slots=True)
class Environment:
    clock: Clock = field(default_factory=SystemClock)
    rng: random.Random = field(default_factory=random.SystemRandom)
    """For ids, fetch sessions, the placement of replicas and the jitter of rolls."""
    fs: FileSystem = field(default_factory=FileSystem)
    holds: LoopHolds = field(default_factory=LoopHolds)
    """Requests and jobs that held the event loop longer than allowed."""
    make_executor: Callable[[int], Executor] = BackgroundThreads
    """The threads for work that blocks, by the setting `background.threads`."""
    make_thread: Callable[[str], Executor] = _one_thread
    """A thread with one worker: of the metadata store, and of the loading of routes."""
    open_store: Callable[[Path, int], MetadataStore] = SqliteStore
    """Opens the metadata store, with the timeout of its session in ms. Called on the store's thread."""
    listen: Listen = listening_socket
    """Makes the sockets of the listeners. The sockets of clients come from them."""
    make_connect: Callable[[asyncio.AbstractEventLoop], Connect] = tcp_connect
    """Makes connections to other brokers."""
