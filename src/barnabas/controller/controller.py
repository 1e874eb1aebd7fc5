"""The controller: the one broker that writes what the cluster decides.

Every write begins with a check of the controller epoch, so a controller that was deposed, and does not know
it yet, writes nothing. All methods block on the store and run on its thread, one after the other: that thread
is the controller's queue.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from barnabas.base.errors import NotController, StorageError
from barnabas.controller.decision_writes import activation, decision_operations
from barnabas.controller.reconciliation import Brokers, Decision, ReplicationPolicy, reconcile
from barnabas.metadata import paths
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import NO_CONTROLLER, ClusterImage, Registration
from barnabas.metadata.membership import ControllerTerm, Membership
from barnabas.metadata.store import (
    BadVersion,
    MetadataStore,
    NodeExists,
    NoNode,
    Operation,
    OperationResult,
    PathError,
    SessionExpired,
    StoreError,
)

logger = logging.getLogger("controller")

T = TypeVar("T")

_ATTEMPTS = 10


class Controller:
    """The controller's role of this broker. It holds no state of its own besides its term."""

    def __init__(self, cluster: ClusterMetadata, membership: Membership, policy: ReplicationPolicy) -> None:
        self.store: MetadataStore = cluster.store
        self.policy: ReplicationPolicy = policy
        self.duties: list[Callable[[], object]] = []
        """What the controller does after each change of the cluster, besides its decisions."""
        self._cluster: ClusterMetadata = cluster
        self._membership: Membership = membership

    @property
    def image(self) -> ClusterImage:
        return self._cluster.image

    @property
    def is_active(self) -> bool:
        """This broker is the controller, as far as it knows."""
        return self._membership.term is not None and self.image.controller_id == self._membership.broker_id

    def refresh(self, changed: Iterable[str]) -> None:
        self._cluster.refresh(changed)

    def transaction(self, operations: Sequence[Operation]) -> list[OperationResult]:
        """Write if this broker is still the controller. Raises NotController otherwise."""
        check = self._term().check()
        try:
            return self._cluster.transaction([check, *operations])[1:]
        except (BadVersion, NoNode) as error:
            if error.path != check.path:
                raise
            self._membership.term = None
            self._cluster.refresh([paths.CONTROLLER])
            raise NotController(
                f"Broker {self._membership.broker_id} is not the controller any more."
            ) from error

    def react(self) -> None:
        """Become controller if there is none, and decide what the change of the cluster requires."""
        try:
            for _ in range(_ATTEMPTS):
                if not self._take_office():
                    return
                try:
                    self._reconcile()
                    for duty in self.duties:
                        duty()
                    return
                except NotController as error:
                    logger.info("%s", error.message)
        except SessionExpired as error:
            logger.info("No decision of the controller: %s", error)

    def _take_office(self) -> bool:
        """Returns whether this broker is the controller, after it has become controller if there is none."""
        if self.is_active:
            return True
        membership, controller_id = self._membership, self.image.controller_id
        if controller_id == NO_CONTROLLER:
            is_controller = membership.run_for_controller()
        else:
            is_controller = controller_id == membership.broker_id and membership.recover_term()
        if is_controller and membership.term is not None:
            logger.info("Broker %d is the controller, epoch %d", membership.broker_id, membership.term.epoch)
        return self.is_active

    def _reconcile(self) -> None:
        for _ in range(_ATTEMPTS):
            image = self.image
            decisions = list(reconcile(image, self.policy))
            starting = Brokers(image.registrations).to_activate(image.registrations)
            if not decisions and not starting:
                return
            try:
                activations = [activation(self.store, image.registrations[each]) for each in starting]
                self.transaction([*self.operations(decisions), *activations])
            except (BadVersion, NodeExists, NoNode) as error:
                self._reread(error)  # Written by another process, or not noticed yet.
                continue
            _log(image, decisions, starting)
            return
        logger.error("Decisions could not be written: other processes change the same nodes; retrying later")

    def write(self, decisions: Sequence[Decision]) -> None:
        """Write the decisions about a request."""
        try:
            self.transaction(self.operations(decisions))
        except (BadVersion, NodeExists, NoNode) as error:
            self._reread(error)
            raise NotController("The partition was changed meanwhile.") from error
        except StoreError as error:
            raise StorageError(str(error)) from error

    def decide(self, decide: Callable[[], tuple[Sequence[Decision], T]]) -> T:
        """Write what `decide` decides about the image, in one transaction. Returns its result.

        It decides again if another process has changed one of the partitions. Raises NotController.
        """
        for _ in range(_ATTEMPTS):
            self._term()
            decisions, result = decide()
            if not decisions:
                return result
            try:
                self.transaction(self.operations(decisions))
            except (BadVersion, NodeExists, NoNode) as error:
                self._reread(error)
                continue
            return result
        raise NotController("Other processes change the same partitions.")

    def operations(self, decisions: Sequence[Decision]) -> list[Operation]:
        return decision_operations(decisions, self._term().epoch, self.store)

    def _reread(self, error: PathError) -> None:
        self._cluster.refresh([error.path, paths.BROKER_IDS])

    def _term(self) -> ControllerTerm:
        term = self._membership.term
        if term is None or self.image.controller_id != self._membership.broker_id:
            raise NotController(f"Broker {self._membership.broker_id} is not the controller.")
        return term


def _history(registration: Registration) -> str:
    if registration.active_epoch < 0:
        return "for the first time"
    return "after an unclean stop" if registration.is_unclean else "with intact logs"


def _log(image: ClusterImage, decisions: Sequence[Decision], starting: Sequence[int]) -> None:
    for broker_id in starting:
        registration = image.registrations[broker_id]
        logger.info(
            "Activated broker %d, epoch %d, %s", broker_id, registration.broker.epoch, _history(registration)
        )
    if not decisions:
        return
    leaderless = sum(decision.partition.leader < 0 for decision in decisions)
    logger.info("Changed the state of %d partitions; %d of them have no leader", len(decisions), leaderless)
    for topic, partition in decisions:
        if partition.is_recovering:
            logger.warning(
                "Broker %d leads %s-%d, elected outside of the ISR: acknowledged records may be lost",
                partition.leader,
                topic.name,
                partition.partition,
            )
