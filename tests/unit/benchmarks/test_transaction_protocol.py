"""The hand-made requests of transactions and their answers are what kio reads and writes."""

from benchmarks import transaction_protocol
from benchmarks.transaction_protocol import GivenProducer
from kio.schema.end_txn.v5.request import EndTxnRequest
from kio.schema.end_txn.v5.response import EndTxnResponse
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4.request import FindCoordinatorRequest
from kio.schema.init_producer_id.v5.request import InitProducerIdRequest
from kio.schema.init_producer_id.v5.response import InitProducerIdResponse
from kio.schema.types import ProducerId
from kio.static.primitive import i16
from tests.unit.benchmarks.group_answers import NO_TIME
from tests.unit.benchmarks.kio_frames import parse, response


def test_find_coordinator_by_transactional_id() -> None:
    request: FindCoordinatorRequest = parse(
        FindCoordinatorRequest, transaction_protocol.find_coordinator("tx")
    )
    assert (request.key_type, request.coordinator_keys) == (1, ("tx",))


def test_a_new_producer_asks_for_an_id_without_having_one() -> None:
    request: InitProducerIdRequest = parse(InitProducerIdRequest, transaction_protocol.init_producer_id("tx"))
    assert (request.transactional_id, request.producer_id, request.producer_epoch) == ("tx", -1, -1)
    assert request.transaction_timeout.total_seconds() == 60


def test_a_commit_carries_the_producer_put_into_it() -> None:
    request = bytearray(transaction_protocol.commit("tx"))
    for producer_id, epoch in ((4000, 7), (2**40, 32767)):
        transaction_protocol.set_producer(request, producer_id, epoch)
        end: EndTxnRequest = parse(EndTxnRequest, request)
        assert (end.transactional_id, end.producer_id, end.producer_epoch) == ("tx", producer_id, epoch)
        assert end.committed


def test_both_answers_that_give_a_producer_are_read() -> None:
    init = InitProducerIdResponse(
        throttle_time=NO_TIME,
        error_code=ErrorCode.none,
        producer_id=ProducerId(4000),
        producer_epoch=i16(1),
    )
    end = EndTxnResponse(
        throttle_time=NO_TIME,
        error_code=ErrorCode.producer_fenced,
        producer_id=ProducerId(-1),
        producer_epoch=i16(-1),
    )
    assert transaction_protocol.parse_producer(response(init)) == GivenProducer(0, 4000, 1)
    assert transaction_protocol.parse_producer(response(end)) == GivenProducer(90, -1, -1)
