"""`Cluster`: several real brokers for tests, each in a child process, on one metadata store.

    with Cluster(brokers=3) as cluster:
        cluster.create_topic("orders", partitions=3)
        cluster.kill(cluster.leader("orders", 0))

Broker `n` of the cluster has the id n. The state that a method returns is read over the wire, from a broker
that runs and is not isolated.
"""

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from barnabas.testing.admin import DEFAULT, Admin, AdminError
from barnabas.testing.broker import Broker
from barnabas.testing.faults import Faults
from barnabas.testing.ports import free_port

if TYPE_CHECKING:
    from barnabas.client.admin.topics import PartitionDescription

PATIENCE: Final = 60.0
"""Seconds until a state that does not come is an error."""
_PAUSE: Final = 0.02
CLIENTS, BROKERS, STORE = "clients", "brokers", "store"
EVERYTHING: Final = (BROKERS, CLIENTS, STORE)


@dataclass(slots=True)
class _Isolation:
    """Whom a broker is cut off from."""

    clients: bool = False
    brokers: set[int] = field(default_factory=set)
    store: bool = False

    def __bool__(self) -> bool:
        return self.clients or self.store or bool(self.brokers)


class Cluster:
    """Use it with `with`, with `async with`, or by `start()` and `close()`.

    brokers: how many; they have the ids 0, 1, 2, ...
    racks: `broker.rack` of each broker.
    config: keys of server.properties for all brokers, over the defaults for tests.
    directory: where to keep the data; it is not deleted then, and a later cluster can use it.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        racks: Sequence[str] | None = None,
        config: Mapping[str, object] | None = None,
        directory: str | Path | None = None,
    ) -> None:
        if brokers < 1:
            raise ValueError("a cluster has at least one broker")
        if racks is not None and len(racks) != brokers:
            raise ValueError(f"{brokers} brokers need {brokers} racks, not {len(racks)}")
        self._config: dict[str, object] = {**for_clusters(brokers), **(config or {})}
        self._remove_directory: weakref.finalize[[Path], Cluster] | None = None
        if directory is None:
            self.directory: Path = Path(tempfile.mkdtemp(prefix="barnabas-cluster-"))
            self._remove_directory = weakref.finalize(self, shutil.rmtree, self.directory, True)
        else:
            self.directory = Path(directory).absolute()
        self.brokers: tuple[Broker, ...] = tuple(
            self._new_broker(number, None if racks is None else racks[number]) for number in range(brokers)
        )
        """Broker n has the id n. They have `bootstrap_servers`, `port`, `log_dir`, `running`, `paused`."""
        self._isolated: dict[int, _Isolation] = {}
        self.faults: Faults = Faults(lambda: self.brokers)
        """Errors, delays and disconnections by request, on every running broker."""

    def _new_broker(self, number: int, rack: str | None) -> Broker:
        config = {
            "node.id": number,
            "barnabas.metadata.store.path": self.directory / "store" / "metadata.db",
            **({} if rack is None else {"broker.rack": rack}),
            **self._config,
        }
        directory = self.directory / f"broker-{number}"
        return Broker(process=True, config=config, port=free_port(), directory=directory)

    # --- life -----------------------------------------------------------------------------------------

    def start(self, broker: int | None = None) -> Self:
        """Start one broker, or all of them at once, and return when clients can connect.

        Does nothing for a broker that runs.
        """
        chosen = self.brokers if broker is None else (self.brokers[broker],)
        with ThreadPoolExecutor(len(chosen)) as threads:
            for started in [threads.submit(each.start) for each in chosen]:
                started.result()
        return self

    def stop(self, broker: int) -> None:
        """Stop one broker cleanly: it hands over its leaderships first (controlled shutdown)."""
        self._isolated.pop(broker, None)
        self.brokers[broker].stop()

    def kill(self, broker: int) -> None:
        """`kill -9` of one broker."""
        self._isolated.pop(broker, None)
        self.brokers[broker].kill()

    def restart(self, broker: int) -> None:
        """Stop one broker cleanly, if it runs, and start it again."""
        self.stop(broker)
        self.start(broker)

    def pause(self, broker: int) -> None:
        """SIGSTOP: the broker keeps its connections and answers nothing. Its session expires."""
        self.brokers[broker].pause()

    def resume(self, broker: int) -> None:
        """SIGCONT, after `pause`."""
        self.brokers[broker].resume()

    def close(self) -> None:
        """Stop all brokers, and remove the temporary directory."""
        try:
            with ThreadPoolExecutor(len(self.brokers)) as threads:
                for stopped in [threads.submit(each.close) for each in self.brokers]:
                    stopped.result()
        finally:
            self._isolated.clear()
            remove, self._remove_directory = self._remove_directory, None
            if remove is not None:
                remove()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    # --- faults ---------------------------------------------------------------------------------------

    def isolate(self, broker: int, from_: int | str | Iterable[int | str] = EVERYTHING) -> None:
        """Cut a running broker off: from other brokers (their ids, or "brokers"), "clients", the "store".

        Connections are closed and new ones refused, in both directions. It adds to an earlier isolation of
        the broker, and ends with `heal()` or when the broker stops.
        """
        isolation = self._isolated.setdefault(broker, _Isolation())
        for each in [from_] if isinstance(from_, int | str) else from_:
            if each == CLIENTS:
                isolation.clients = True
            elif each == STORE:
                isolation.store = True
            elif each == BROKERS:
                isolation.brokers |= {number for number in range(len(self.brokers)) if number != broker}
            elif isinstance(each, int) and 0 <= each < len(self.brokers) and each != broker:
                isolation.brokers.add(each)
            else:
                raise ValueError(f"from_={each!r}: expected the id of another broker, or one of {EVERYTHING}")
        self._apply(broker, isolation)

    def heal(self, timeout: float = PATIENCE) -> None:
        """End every fault: resume, reconnect and start all brokers; wait until all replicas are in sync."""
        for broker in self.brokers:
            broker.resume()
        self.faults.clear()
        for number in list(self._isolated):
            del self._isolated[number]
            if self.brokers[number].running:
                self._apply(number, _Isolation())
        self.start()
        self._wait("all brokers and replicas to be in sync", self._is_whole, timeout)

    def expire_session(self, broker: int) -> None:
        """End the broker's session in the metadata store: it loses its leaderships and registers again."""
        self.brokers[broker].command("expire_session")

    def shrink_below_min_isr(self, topic: str, partition: int = 0) -> list[int]:
        """Stop followers, the last replica first, until `acks=all` fails with NOT_ENOUGH_REPLICAS.

        Returns the brokers that were stopped. The leader stays.
        """
        (described,) = self._admin().describe_topics([topic])
        least, leader = described.min_isr, self.leader(topic, partition)
        if least < 2:
            raise ValueError(f"min.insync.replicas of {topic} is {least}: no ISR is below it")
        stopped: list[int] = []
        members = [each for each in reversed(self.replicas(topic, partition)) if each != leader]
        while len(isr := self.isr(topic, partition)) >= least:
            follower = next(each for each in members if each in isr)
            self.stop(follower)
            stopped.append(follower)
            self.wait_for_isr(topic, partition, [each for each in isr if each != follower])
        return stopped

    def _apply(self, broker: int, isolation: _Isolation) -> None:
        ports = {str(number): self.brokers[number].port for number in isolation.brokers}
        self.brokers[broker].command(
            "isolate", clients=isolation.clients, brokers=ports, store=isolation.store
        )

    # --- topics and state -----------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int = DEFAULT,
        config: Mapping[str, object] | None = None,
        assignment: Sequence[Sequence[int]] = (),
    ) -> None:
        """Create a topic, with three replicas unless the cluster is smaller; raises `AdminError`.

        `assignment`, the brokers of each partition, replaces both numbers. Returns when every partition has
        a leader that is known to the clients.
        """
        self._admin().create_topic(name, partitions, config or {}, replicas, assignment)
        self._wait(f"leaders of {name}", lambda: self._has_leaders(name), PATIENCE)

    def delete_topic(self, *names: str) -> None:
        """Delete topics; raises `AdminError` if the cluster rejects it."""
        if names:
            self._admin().delete_topics(list(names))

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics, and wait until no broker knows them."""
        chosen = set(names)
        self.delete_topic(*chosen)
        admins = [Admin.of_cluster([each]) for each in self.brokers if each.running and not each.paused]
        what = f"the deletion of {', '.join(sorted(chosen))}"
        self._wait(what, lambda: all(chosen.isdisjoint(each.list_topics()) for each in admins), PATIENCE)

    def topics(self) -> set[str]:
        """The names of all topics, internal ones (`__consumer_offsets`) included."""
        return self._admin().list_topics()

    def leader(self, topic: str, partition: int = 0) -> int:
        """The id of the leader. Raises LookupError while the partition has none."""
        found = self._partition(topic, partition).leader
        if found is None:
            raise LookupError(f"partition {topic}-{partition} has no leader")
        return found

    def replicas(self, topic: str, partition: int = 0) -> list[int]:
        """The brokers of the partition, the preferred leader first."""
        return list(self._partition(topic, partition).replicas)

    def isr(self, topic: str, partition: int = 0) -> list[int]:
        return list(self._partition(topic, partition).isr)

    def controller(self) -> int:
        """The id of the controller. Raises LookupError while there is none."""
        found = self._admin().describe_cluster().controller_id
        if found is None:
            raise LookupError("the cluster has no controller")
        return found

    def wait_for_isr(
        self, topic: str, partition: int, members: Iterable[int], timeout: float = PATIENCE
    ) -> None:
        """Wait until exactly these brokers are in sync. Raises TimeoutError."""
        wanted = set(members)
        what = f"the ISR {sorted(wanted)} of {topic}-{partition}"
        self._wait(what, lambda: set(self.isr(topic, partition)) == wanted, timeout)

    def wait_for_leader(
        self, topic: str, partition: int = 0, among: Iterable[int] | None = None, timeout: float = PATIENCE
    ) -> int:
        """Wait until the partition has a leader, one of `among` if given. Returns its id."""
        allowed = set(range(len(self.brokers)) if among is None else among)
        what = f"a leader of {topic}-{partition} among {sorted(allowed)}"
        self._wait(what, lambda: self.leader(topic, partition) in allowed, timeout)
        return self.leader(topic, partition)

    def wait_for_controller(self, among: Iterable[int] | None = None, timeout: float = PATIENCE) -> int:
        """Wait until the cluster has a controller, one of `among` if given. Returns its id."""
        allowed = set(range(len(self.brokers)) if among is None else among)
        what = f"a controller among {sorted(allowed)}"
        self._wait(what, lambda: self.controller() in allowed, timeout)
        return self.controller()

    @property
    def bootstrap_servers(self) -> str:
        """The value of `bootstrap.servers`: all brokers. It does not change."""
        return ",".join(each.bootstrap_servers for each in self.brokers)

    def __repr__(self) -> str:
        states = ", ".join(
            f"{number} {'paused' if each.paused else 'running' if each.running else 'stopped'}"
            for number, each in enumerate(self.brokers)
        )
        return f"<Cluster {states}>"

    # --- inside ---------------------------------------------------------------------------------------

    def _admin(self) -> Admin:
        reachable = [
            each
            for number, each in enumerate(self.brokers)
            if each.running and not each.paused and not self._isolated.get(number)
        ]
        if not reachable:
            raise RuntimeError(f"{self!r}: no broker runs that is not paused or isolated")
        return Admin.of_cluster(reachable)

    def _partition(self, topic: str, partition: int) -> "PartitionDescription":
        (described,) = self._admin().layouts([topic])
        for each in described.partitions:
            if each.index == partition:
                return each
        raise LookupError(f"topic {topic} has no partition {partition}")

    def _has_leaders(self, topic: str) -> bool:
        running = [each for each in self.brokers if each.running and not each.paused]
        return all(
            partition.leader is not None
            for broker in running
            for described in Admin.of_cluster([broker]).layouts([topic])
            for partition in described.partitions
        )

    def _is_whole(self) -> bool:
        """All brokers are registered, all replicas in sync, and every broker knows it."""
        views = [self._view(Admin.of_cluster([each])) for each in self.brokers]
        return views[0] is not None and all(each == views[0] for each in views)

    def _view(self, admin: Admin) -> object:
        """The brokers and partitions as one broker knows them; None if something is missing."""
        endpoints = admin.describe_cluster().endpoints
        partitions = [
            (topic.name, each) for topic in admin.layouts(admin.list_topics()) for each in topic.partitions
        ]
        is_whole = len(endpoints) == len(self.brokers) and all(
            each.leader is not None and set(each.isr) == set(each.replicas) for _, each in partitions
        )
        return (endpoints, partitions) if is_whole else None

    def _wait(self, what: str, condition: Callable[[], bool], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        reason = ""
        while True:
            try:
                if condition():
                    return
            except (AdminError, LookupError, OSError) as error:  # A broker that has just started or ended.
                reason = f" ({error})"
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self!r}: waited {timeout:g} s for {what}{reason}")
            time.sleep(_PAUSE)


def for_clusters(brokers: int) -> dict[str, object]:
    """The defaults of a test cluster: three replicas if there are so many brokers, faults noticed soon."""
    replicas = min(brokers, 3)
    return {
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min(brokers, 2),
        "broker.session.timeout.ms": 4000,
        "replica.lag.time.max.ms": 4000,
    }
