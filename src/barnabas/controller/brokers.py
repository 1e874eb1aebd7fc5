"""The life of brokers in the cluster: controlled shutdown and removal from the cluster."""

import logging

from barnabas.base.errors import BrokerIdNotRegistered, InvalidRequest, RequestTimedOut
from barnabas.controller.controller import Controller
from barnabas.controller.decision_writes import activation
from barnabas.controller.isr_changes import check_broker_epoch
from barnabas.controller.reconciliation import Decision, reconcile
from barnabas.metadata import paths
from barnabas.metadata.store import BadVersion, Delete, NoNode

logger = logging.getLogger("controller")

_ATTEMPTS = 10


def begin_controlled_shutdown(controller: Controller, broker_id: int, broker_epoch: int) -> bool:
    """The broker wants to stop: other replicas take its leaderships. Returns whether it may stop now.

    A partition that no other replica can lead stays without a leader. That does not keep the broker.
    """
    check_broker_epoch(controller.image, broker_id, broker_epoch)
    registration = controller.image.registrations[broker_id]
    if registration.is_active and not registration.broker.is_shutting_down:
        mark = activation(controller.store, registration, is_shutting_down=True)
        controller.transaction([mark])
        logger.info("Broker %d is shutting down: other replicas take its leaderships", broker_id)
    controller.react()
    return not any(
        partition.leader == broker_id
        for topic in controller.image.topics.values()
        for partition in topic.partitions.values()
    )


def unregister_broker(controller: Controller, broker_id: int) -> None:
    """Forget a broker that was removed for good. Its partitions keep it until they are reassigned."""
    for _ in range(_ATTEMPTS):
        registration = controller.image.registrations.get(broker_id)
        if registration is None:
            raise BrokerIdNotRegistered(f"Broker ID {broker_id} is not currently registered")
        if registration.is_alive:
            raise InvalidRequest(f"Broker {broker_id} is running: stop it before it is unregistered.")
        try:
            controller.transaction([Delete(paths.registration(broker_id), registration.node_version)])
            logger.info("Unregistered broker %d", broker_id)
            return
        except (BadVersion, NoNode):
            controller.refresh([paths.registration(broker_id)])  # It registers at this moment.
    raise RequestTimedOut(f"Broker {broker_id} registers all the time.")


def pending_decisions(controller: Controller) -> list[Decision]:
    """What the controller would decide now. Empty once it has reacted to every change."""
    return list(reconcile(controller.image, controller.policy))
