import socket
import struct
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from kio.schema.create_topics.v7 import request as create_request
from kio.schema.create_topics.v7 import response as create_response
from kio.schema.delete_topics.v5 import request as delete_request
from kio.schema.delete_topics.v5 import response as delete_response
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v9 import response as metadata_response
from kio.schema.request_header.v2.header import RequestHeader
from kio.serial import entity_reader, entity_writer

from barnabas.testing.admin import Admin, AdminError


class ScriptedBroker:
    """Accepts connections one after another, keeps the request of each, answers with what it was given."""

    def __init__(self) -> None:
        self.answer: Any = None
        self.requests: list[bytes] = []
        self._listener: socket.socket = socket.create_server(("127.0.0.1", 0))
        self._thread: threading.Thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def admin(self) -> Admin:
        return Admin("127.0.0.1", self._listener.getsockname()[1], timeout=10)

    def request(self, entity: Any) -> Any:
        """The last request, read with the schema of a broker."""
        _, size = entity_reader(RequestHeader)(self.requests[-1], 0)
        return entity_reader(entity)(self.requests[-1], size)[0]

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                (size,) = struct.unpack(">i", stream.read(4))
                self.requests.append(stream.read(size))
                if self.answer is not None:
                    connection.sendall(_frame(self.answer))


def _frame(answer: Any) -> bytes:
    body = BytesIO()
    header = answer.__header_schema__(correlation_id=1)
    entity_writer(answer.__header_schema__)(body, header)
    entity_writer(type(answer))(body, answer)
    return struct.pack(">i", len(body.getvalue())) + body.getvalue()


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    scripted = ScriptedBroker()
    yield scripted
    scripted.close()


def _created(code: ErrorCode, message: str | None = None) -> Any:
    topic = create_response.CreatableTopicResult(
        name="t",  # type: ignore[arg-type]
        topic_id=None,
        error_code=code,
        error_message=message,
        configs=None,
    )
    return create_response.CreateTopicsResponse(throttle_time=timedelta(0), topics=(topic,))  # type: ignore[arg-type]


def _deleted(*results: tuple[str, ErrorCode]) -> Any:
    responses = tuple(
        delete_response.DeletableTopicResult(name=name, error_code=code)  # type: ignore[arg-type]
        for name, code in results
    )
    return delete_response.DeleteTopicsResponse(throttle_time=timedelta(0), responses=responses)  # type: ignore[arg-type]


def test_create_topic_asks_for_partitions_and_configuration(broker: ScriptedBroker) -> None:
    broker.answer = _created(ErrorCode.none)
    broker.admin.create_topic("t", 3, {"retention.ms": 1000, "preallocate": True})
    (topic,) = broker.request(create_request.CreateTopicsRequest).topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 3, -1)
    assert {config.name: config.value for config in topic.configs} == {
        "retention.ms": "1000",
        "preallocate": "true",
    }


def test_refused_topic_raises_with_the_name_of_kafkas_error(broker: ScriptedBroker) -> None:
    broker.answer = _created(ErrorCode.topic_already_exists, "Topic 't' already exists.")
    with pytest.raises(AdminError, match=r"create topic 't': Topic 't' already exists\.") as error:
        broker.admin.create_topic("t", 1, {})
    assert error.value.code == "topic_already_exists"


def test_delete_topics_in_one_request(broker: ScriptedBroker) -> None:
    broker.answer = _deleted(("a", ErrorCode.none), ("b", ErrorCode.none))
    broker.admin.delete_topics(["a", "b"])
    assert broker.request(delete_request.DeleteTopicsRequest).topic_names == ("a", "b")


def test_failed_deletion_names_the_topic(broker: ScriptedBroker) -> None:
    broker.answer = _deleted(("a", ErrorCode.none), ("b", ErrorCode.unknown_topic_or_partition))
    with pytest.raises(AdminError, match="delete topic 'b': unknown topic or partition"):
        broker.admin.delete_topics(["a", "b"])


def test_list_topics_gives_every_name(broker: ScriptedBroker) -> None:
    def topic(name: str) -> Any:
        make: Callable[..., Any] = metadata_response.MetadataResponseTopic
        return make(error_code=ErrorCode.none, name=name, is_internal=False, partitions=())

    make: Callable[..., Any] = metadata_response.MetadataResponse
    broker.answer = make(
        throttle_time=timedelta(0),
        brokers=(),
        cluster_id="c",
        topics=(topic("a"), topic("__consumer_offsets")),
    )
    assert broker.admin.list_topics() == {"a", "__consumer_offsets"}


def test_broker_that_hangs_up_is_an_error(broker: ScriptedBroker) -> None:
    with pytest.raises(ConnectionError, match="before it answered"):
        broker.admin.list_topics()
