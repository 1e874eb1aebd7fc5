"""What a test may do inside a broker: the side of the broker, in a thread or in a child process.

A command is a verb and its arguments, all of them values of JSON, and so is its result. The commands come
over a private channel (`barnabas.testing.process`), never over the Kafka port.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.base.clock import Clock, SystemClock
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.environment import Environment
from barnabas.handlers.pipeline import Stage
from barnabas.metadata.store import MetadataStore
from barnabas.testing.cut_store import CutStore
from barnabas.testing.fault_stage import FaultStage
from barnabas.testing.network_cut import NetworkCut, Severed

if TYPE_CHECKING:
    from barnabas.broker import Broker


class Control:
    """Commands may be executed on any thread."""

    def __init__(self, broker_id: int, holds: LoopHolds) -> None:
        self._holds: LoopHolds = holds
        self._network: NetworkCut = NetworkCut(broker_id)
        self._store: CutStore | None = None
        self._faults: FaultStage = FaultStage()
        self.stages: Sequence[Stage] = (self._faults,)
        self._verbs: Mapping[str, Callable[..., Any]] = {
            "loop_holds": self._holds.summary,
            "isolate": self._isolate,
            "expire_session": self._expire_session,
            "faults.add": self._faults.add,
            "faults.clear": self._faults.clear,
            "faults.log": self._faults.read_log,
        }

    def environment(self, clock: Clock | None = None) -> Environment:
        """The environment to build the broker with."""
        return Environment(
            clock=clock or SystemClock(),
            holds=self._holds,
            open_store=self._open_store,
            listen=self._network.listen,
            make_connect=self._network.make_connect,
        )

    def attach(self, broker: "Broker") -> None:
        """The broker is ready."""
        self._faults.attach(broker.contexts)

    def do(self, verb: str, **arguments: Any) -> Any:
        return self._verbs[verb](**arguments)

    def _open_store(self, path: Path, session_timeout_ms: int) -> MetadataStore:
        self._store = CutStore(path, session_timeout_ms)
        return self._store

    def _isolate(self, clients: bool, brokers: Mapping[str, int], store: bool) -> None:
        """Replaces an earlier isolation. `brokers`: ids and ports."""
        assert self._store is not None
        self._store.cut(store)
        self._network.sever(Severed(clients, {int(key): port for key, port in brokers.items()}))

    def _expire_session(self) -> None:
        assert self._store is not None
        self._store.expire_session()
