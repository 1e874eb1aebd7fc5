"""The membership of this broker: its registration, and its candidacy for the controller's role.

A broker registers with two nodes in one write. `/brokers/ids/N` lives as long as its session, and the number
of the transaction that created it is the broker epoch. `/barnabas/registrations/N` stays. It says whether
the broker's logs may have lost their ends, and which broker epoch the controller has activated. A broker
whose epoch is not activated is fenced: it leads nothing and is in no ISR.

All methods block on the store and run on its thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from barnabas import __version__
from barnabas.base.clock import Clock, SystemClock
from barnabas.base.config.listeners import Listener
from barnabas.base.ids import random_uuid
from barnabas.metadata import nodes, paths
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.nodes import BrokerNode, RegistrationNode
from barnabas.metadata.store import (
    BadVersion,
    Check,
    Create,
    NodeExists,
    NoNode,
    Operation,
    Set,
    Stat,
    StoreError,
)


class BrokerIdInUse(StoreError):
    """Another running process is registered under this broker id."""


@dataclass(frozen=True, slots=True)
class ControllerTerm:
    """One term of a controller: its epoch, and the version of `/controller_epoch` that proves it."""

    epoch: int
    version: int

    def check(self) -> Check:
        """The operation that makes a write fail once another broker has become controller."""
        return Check(paths.CONTROLLER_EPOCH, self.version)


@dataclass(frozen=True, slots=True)
class LogHistory:
    """What the log directories say about the last stop."""

    was_clean: bool = True
    broker_epoch: int = 0
    """The broker epoch at the last clean stop. 0 if the directories do not know it."""

    def is_unclean_after(self, last: RegistrationNode | None) -> bool:
        """Whether a log may have lost its end since the registration `last`."""
        if not self.was_clean:
            return True
        if last is None or last.active_epoch < 0 or self.broker_epoch == 0:
            return False
        return self.broker_epoch != last.active_epoch


class Membership:
    def __init__(
        self,
        cluster: ClusterMetadata,
        broker_id: int,
        listeners: Sequence[Listener],
        rack: str | None = None,
        clock: Clock | None = None,
        incarnation: UUID | None = None,
    ) -> None:
        self.broker_id: int = broker_id
        self.epoch: int = -1
        """The broker epoch of the last registration."""
        self.term: ControllerTerm | None = None
        """This broker's last term as controller. It may be over: a write with its check tells."""
        self.offline_replicas: frozenset[tuple[UUID, int]] = frozenset()
        """Topic id and partition of each replica here whose log directory has failed."""
        self._cluster: ClusterMetadata = cluster
        self._listeners: tuple[Listener, ...] = tuple(listeners)
        self._rack: str | None = rack
        self._clock: Clock = clock or SystemClock()
        self._incarnation: UUID = incarnation or random_uuid()

    @property
    def is_active(self) -> bool:
        """The controller has activated this registration."""
        known = self._cluster.image.registrations.get(self.broker_id)
        return known is not None and known.is_active and known.broker.epoch == self.epoch

    def join(self, history: LogHistory) -> bool:
        """Register and try to become controller, in one write. Returns whether this broker is controller."""
        registration, candidacy = self._registration(history), self._candidacy()
        try:
            self._become_controller([*registration, *candidacy], candidacy)
        except (NodeExists, BadVersion) as error:
            if error.path == registration[0].path:
                raise self._in_use() from error
            self.register(history)
            return self.run_for_controller()
        self._note_epoch()
        return True

    def register(self, history: LogHistory) -> int:
        """Register for the lifetime of the store's session. Returns the broker epoch."""
        operations = self._registration(history)
        path = operations[0].path
        try:
            self._cluster.transaction(operations)
        except NodeExists as error:
            stat = self._cluster.store.exists(path)
            if error.path != path or stat is None or stat.ephemeral_owner != self._cluster.store.session_id:
                raise self._in_use() from error
        return self._note_epoch()

    def report_offline(self, replicas: frozenset[tuple[UUID, int]]) -> None:
        """Note in the registration that the log directory of these replicas has failed."""
        self.offline_replicas |= replicas
        path = paths.registration(self.broker_id)
        while True:
            data, stat = self._cluster.store.get(path)
            node = nodes.read(path, data, nodes.decode_registration)
            changed = replace(node, offline_replicas=self.offline_replicas)
            try:
                self._cluster.transaction([Set(path, nodes.encode_registration(changed), stat.version)])
                return
            except BadVersion:
                continue  # The controller has activated the registration meanwhile.

    def run_for_controller(self) -> bool:
        """Become the controller if there is none. Returns whether this broker is the controller."""
        candidacy = self._candidacy()
        try:
            self._become_controller(candidacy, candidacy)
        except (NodeExists, BadVersion):
            self._cluster.refresh([paths.CONTROLLER])
        return self._cluster.image.controller_id == self.broker_id

    def recover_term(self) -> bool:
        """Take up a term whose write succeeded although its response was lost.

        Returns whether this broker is the controller. `/controller` is read before and after the epoch: the
        epoch belongs to this session only if the node was the same all the time.
        """
        store = self._cluster.store
        before = store.exists(paths.CONTROLLER)
        if before is None or before.ephemeral_owner != store.session_id:
            self._cluster.refresh([paths.CONTROLLER])
            return False
        data, stat = store.get(paths.CONTROLLER_EPOCH)
        after = store.exists(paths.CONTROLLER)
        if after is None or (after.ephemeral_owner, after.created_in) != (
            before.ephemeral_owner,
            before.created_in,
        ):
            self._cluster.refresh([paths.CONTROLLER])
            return False
        epoch = nodes.read(paths.CONTROLLER_EPOCH, data, nodes.decode_controller_epoch)
        self.term = ControllerTerm(epoch, stat.version)
        return True

    def _become_controller(self, operations: Sequence[Operation], candidacy: Sequence[Operation]) -> None:
        written = candidacy[-1]
        assert isinstance(written, Create | Set)
        result = self._cluster.transaction(operations)[-1]
        version = result.version if isinstance(result, Stat) else 0
        self.term = ControllerTerm(nodes.decode_controller_epoch(written.data), version)

    def _registration(self, history: LogHistory) -> list[Create | Set]:
        node = BrokerNode(self._listeners, self._rack, self._clock.now_ms())
        session = Create(paths.broker(self.broker_id), nodes.encode_broker(node), ephemeral=True)
        path = paths.registration(self.broker_id)
        try:
            data, stat = self._cluster.store.get(path)
        except NoNode:
            record = nodes.encode_registration(self._record(None, history))
            return [session, Create(path, record)]
        last = nodes.read(path, data, nodes.decode_registration)
        return [session, Set(path, nodes.encode_registration(self._record(last, history)), stat.version)]

    def _record(self, last: RegistrationNode | None, history: LogHistory) -> RegistrationNode:
        # The controller resets `is_unclean` when it activates a registration. Until then it stays.
        is_unclean = history.is_unclean_after(last) or (last is not None and last.is_unclean)
        return RegistrationNode(
            self._listeners,
            self._rack,
            __version__,
            self._incarnation,
            is_unclean,
            -1 if last is None else last.active_epoch,
            offline_replicas=self.offline_replicas,
        )

    def _candidacy(self) -> list[Operation]:
        data = nodes.encode_controller(self.broker_id, self._clock.now_ms())
        try:
            epoch, stat = self._cluster.store.get(paths.CONTROLLER_EPOCH)
        except NoNode:
            first = nodes.encode_controller_epoch(1)
            return [Create(paths.CONTROLLER, data, ephemeral=True), Create(paths.CONTROLLER_EPOCH, first)]
        following = nodes.read(paths.CONTROLLER_EPOCH, epoch, nodes.decode_controller_epoch) + 1
        return [
            Create(paths.CONTROLLER, data, ephemeral=True),
            Set(paths.CONTROLLER_EPOCH, nodes.encode_controller_epoch(following), stat.version),
        ]

    def _note_epoch(self) -> int:
        self.epoch = self._cluster.image.registrations[self.broker_id].broker.epoch
        return self.epoch

    def _in_use(self) -> BrokerIdInUse:
        message = f"broker id {self.broker_id} is in use by another running broker"
        try:
            path = paths.broker(self.broker_id)
            node = nodes.read(path, self._cluster.store.get(path)[0], nodes.decode_broker)
            message += f" ({', '.join(map(str, node.listeners))})"
        except StoreError:
            pass
        return BrokerIdInUse(message)
