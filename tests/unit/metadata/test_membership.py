from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.fakes.lost_responses import LostResponses

from barnabas.base.config.listeners import Listener
from barnabas.metadata import nodes, paths
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import NO_CONTROLLER, Address
from barnabas.metadata.membership import BrokerIdInUse, LogHistory, Membership
from barnabas.metadata.nodes import BrokerNode, RegistrationNode
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import BadVersion, Create, Set, StoreError

LISTENERS = (Listener("PLAINTEXT", "PLAINTEXT", "localhost", 9092),)
Connect = Callable[[], ClusterMetadata]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    opened: list[ClusterMetadata] = []

    def open_one() -> ClusterMetadata:
        cluster = ClusterMetadata(SqliteStore(tmp_path / "metadata.db"))
        opened.append(cluster)
        cluster.load()
        return cluster

    yield open_one
    for cluster in opened:
        cluster.close()
        cluster.store.close()


def activate(cluster: ClusterMetadata, broker_id: int) -> None:
    path = paths.registration(broker_id)
    node = nodes.decode_registration(cluster.store.get(path)[0])
    epoch = cluster.image.registrations[broker_id].broker.epoch
    active = RegistrationNode(node.listeners, node.rack, "", node.incarnation, False, epoch)
    cluster.transaction([Set(path, nodes.encode_registration(active))])


def test_broker_is_fenced_until_the_controller_activates_it(connect: Connect) -> None:
    cluster = connect()
    membership = Membership(cluster, 3, LISTENERS, rack="r")
    epoch = membership.register(LogHistory())
    assert cluster.image.brokers == {}
    assert cluster.image.registrations[3].is_alive
    assert 3 not in cluster.image.brokers
    activate(cluster, 3)
    assert membership.is_active
    image = cluster.image.brokers[3]
    assert image.endpoints == {"PLAINTEXT": Address("localhost", 9092)}
    assert (image.rack, image.epoch) == ("r", epoch)


def test_registration_outlives_the_session(connect: Connect) -> None:
    broker = connect()
    membership = Membership(broker, 3, LISTENERS)
    epoch = membership.register(LogHistory())
    activate(broker, 3)
    broker.close()
    broker.store.close()
    image = connect().image
    assert image.brokers == {}
    assert not image.registrations[3].is_alive
    assert image.registrations[3].active_epoch == epoch
    assert image.registrations[3].broker.endpoints == {"PLAINTEXT": Address("localhost", 9092)}


def test_broker_without_a_registration_is_active_while_its_session_lives(connect: Connect) -> None:
    cluster = connect()
    node = nodes.encode_broker(BrokerNode(LISTENERS))
    cluster.transaction([Create(paths.broker(7), node, ephemeral=True)])
    assert list(cluster.image.brokers) == [7]


def test_broker_id_of_a_running_broker_is_refused(connect: Connect) -> None:
    first, second = connect(), connect()
    Membership(first, 0, LISTENERS).register(LogHistory())
    other = Membership(second, 0, LISTENERS)
    for attempt in (other.register, other.join):
        with pytest.raises(BrokerIdInUse, match=r"broker id 0 is in use .*PLAINTEXT://localhost:9092"):
            attempt(LogHistory())
    assert second.image.controller_id == NO_CONTROLLER


def test_epoch_grows_with_every_registration(connect: Connect) -> None:
    first = connect()
    epoch = Membership(first, 0, LISTENERS).register(LogHistory())
    first.store.close()
    assert Membership(connect(), 0, LISTENERS).register(LogHistory()) > epoch


def test_first_broker_becomes_controller_and_the_next_takes_over(connect: Connect) -> None:
    first, second = connect(), connect()
    one, two = Membership(first, 0, LISTENERS), Membership(second, 1, LISTENERS)
    assert one.join(LogHistory()) is True
    assert two.join(LogHistory()) is False
    assert (second.image.controller_id, second.image.controller_epoch) == (0, 1)
    assert one.run_for_controller() is True
    first.store.close()
    second.refresh([paths.CONTROLLER])
    assert two.run_for_controller() is True
    assert (second.image.controller_id, second.image.controller_epoch) == (1, 2)
    assert one.term is not None
    with pytest.raises(BadVersion):
        second.transaction([one.term.check()])
    assert two.term is not None
    second.transaction([two.term.check()])


@pytest.mark.parametrize(
    ("history", "active_epoch", "is_unclean"),
    [
        (LogHistory(True, 5), 5, False),
        (LogHistory(True, 4), 5, True),  # It ran once more after its last clean stop.
        (LogHistory(False, 0), 5, True),
        (LogHistory(True, 0), 5, False),  # A file of an older version.
        (LogHistory(True, 5), -1, False),
    ],
)
def test_start_is_unclean_unless_the_logs_know_the_last_epoch(
    history: LogHistory, active_epoch: int, is_unclean: bool
) -> None:
    last = RegistrationNode(LISTENERS, None, "", UUID(int=9), False, active_epoch)
    assert history.is_unclean_after(last) is is_unclean


def test_unclean_start_is_remembered_until_it_was_considered(connect: Connect) -> None:
    first = connect()
    Membership(first, 0, LISTENERS).register(LogHistory(was_clean=False))
    first.store.close()
    second = connect()
    Membership(second, 0, LISTENERS).register(LogHistory())
    assert second.image.registrations[0].is_unclean
    activate(second, 0)
    second.store.close()
    third = connect()
    Membership(third, 0, LISTENERS).register(LogHistory())
    assert not third.image.registrations[0].is_unclean


@pytest.fixture
def losing(tmp_path: Path) -> Iterator[tuple[ClusterMetadata, LostResponses]]:
    store = LostResponses(tmp_path / "metadata.db")
    cluster = ClusterMetadata(store)
    cluster.load()
    yield cluster, store
    cluster.close()
    store.close()


def test_term_whose_response_was_lost_is_recovered(losing: tuple[ClusterMetadata, LostResponses]) -> None:
    cluster, store = losing
    membership = Membership(cluster, 0, LISTENERS)
    assert membership.recover_term() is False
    store.is_losing = True
    with pytest.raises(StoreError, match="lost"):
        membership.run_for_controller()
    store.is_losing = False
    assert membership.recover_term() is True
    term = membership.term
    assert term is not None
    assert term.epoch == 1
    cluster.transaction([term.check()])


def test_term_of_another_session_is_not_recovered(
    connect: Connect, losing: tuple[ClusterMetadata, LostResponses]
) -> None:
    cluster, store = losing
    other = connect()
    membership, elsewhere = Membership(cluster, 0, LISTENERS), Membership(other, 1, LISTENERS)
    assert membership.run_for_controller()
    membership.term = None

    def depose() -> None:
        other.store.delete(paths.CONTROLLER)
        other.refresh([paths.CONTROLLER])
        assert elsewhere.run_for_controller()

    store.after_get = depose  # Between the reads of the epoch and of the controller.
    for _ in range(2):
        assert membership.recover_term() is False
        assert (membership.term, cluster.image.controller_id) == (None, 1)
