from uuid import UUID

from barnabas.replication.follower_session import FollowerSession, SessionPartition
from barnabas.wire.fetch import FetchPartition

ONE, TWO = SessionPartition(UUID(int=1), 0), SessionPartition(UUID(int=2), 0)


def at(offset: int) -> FetchPartition:
    return FetchPartition(0, offset, 1000)


def test_first_request_names_every_partition_and_later_ones_what_changed() -> None:
    session = FollowerSession()
    assert session.request({ONE: at(0), TWO: at(0)}) == (0, 0, {ONE: at(0), TWO: at(0)}, ())
    session.on_response(7)
    assert session.request({ONE: at(5), TWO: at(0)}) == (7, 1, {ONE: at(5)}, [])
    session.on_response(7)
    assert session.request({TWO: None}) == (7, 2, {}, [TWO])
    session.on_response(7)
    assert session.request({TWO: None}) == (7, 3, {}, [])
    assert session.partitions == {ONE: at(5)}


def test_leader_without_a_session_gets_every_partition_each_time() -> None:
    session = FollowerSession()
    for _ in range(2):
        assert session.is_new
        assert session.request({ONE: at(0)}) == (0, 0, {ONE: at(0)}, ())
        session.on_response(0)


def test_new_session_names_the_old_one_so_that_the_leader_frees_it() -> None:
    session = FollowerSession()
    session.request({ONE: at(0)})
    session.on_response(7)
    session.reset()
    assert session.request({ONE: at(3)}) == (7, 0, {ONE: at(3)}, ())
    session.on_response(8)
    assert session.request({}) == (8, 1, {}, [])


def test_epochs_begin_again_at_1_after_the_largest() -> None:
    session = FollowerSession()
    session.request({ONE: at(0)})
    session.on_response(7)
    session._epoch = 2**31 - 1
    assert session.request({}).session_epoch == 2**31 - 1
    session.on_response(7)
    assert session.request({}).session_epoch == 1
