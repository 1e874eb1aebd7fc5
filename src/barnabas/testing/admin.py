"""A tiny blocking client: create, delete and list topics, over the wire, with nothing but kio.

It speaks the Kafka protocol only, so it works against Apache Kafka as well. One connection per call:
tests create a handful of topics, and a broker that was restarted in between needs no reconnecting.
"""

import socket
import struct
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from importlib import import_module
from io import BytesIO
from typing import Any

from barnabas.base.light_kio import import_kio_lightly

_LENGTH = struct.Struct(">i")
_CORRELATION_ID = 1
_CLIENT_ID = "barnabas-testing"


class AdminError(Exception):
    """The broker refused. `code` is the name of Kafka's error, `topic_already_exists` for example."""

    def __init__(self, action: str, code: str, message: str | None) -> None:
        super().__init__(f"{action}: {message or code.replace('_', ' ')} ({code})")
        self.code: str = code


class Admin:
    def __init__(self, host: str, port: int, timeout: float = 30.0) -> None:
        self._host: str = host
        self._port: int = port
        self._timeout: float = timeout

    def create_topic(self, name: str, partitions: int, config: Mapping[str, object]) -> None:
        schema = _schema("create_topics", 7, "request")
        configs = tuple(
            schema.CreatableTopicConfig(name=key, value=config_text(value)) for key, value in config.items()
        )
        topic = schema.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=-1, assignments=(), configs=configs
        )
        response = self._send(
            "create_topics", 7, schema.CreateTopicsRequest(topics=(topic,), timeout=self._wait())
        )
        result = response.topics[0]
        _check(f"create topic {name!r}", result.error_code, result.error_message)

    def delete_topics(self, names: list[str]) -> None:
        schema = _schema("delete_topics", 5, "request")
        request = schema.DeleteTopicsRequest(topic_names=tuple(names), timeout=self._wait())
        for result in self._send("delete_topics", 5, request).responses:
            _check(f"delete topic {result.name!r}", result.error_code, result.error_message)

    def list_topics(self) -> set[str]:
        """Every topic, also the internal ones."""
        schema = _schema("metadata", 9, "request")
        request = schema.MetadataRequest(
            topics=None,
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        return {topic.name for topic in self._send("metadata", 9, request).topics}

    def _wait(self) -> timedelta:
        return timedelta(seconds=self._timeout)

    def _send(self, api: str, version: int, request: Any) -> Any:
        frame = _encode(request)
        with socket.create_connection((self._host, self._port), self._timeout) as connection:
            connection.sendall(_LENGTH.pack(len(frame)) + frame)
            (size,) = _LENGTH.unpack(_read_exactly(connection, 4))
            answer = _read_exactly(connection, size)
        response_schema = _schema(api, version, "response")
        entity = getattr(response_schema, type(request).__name__.removesuffix("Request") + "Response")
        _, header_size = _reader(entity.__header_schema__)(answer, 0)
        response, _ = _reader(entity)(answer, header_size)
        return response


def _encode(request: Any) -> bytes:
    header = request.__header_schema__(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=_CORRELATION_ID,
        client_id=_CLIENT_ID,
    )
    buffer = BytesIO()
    _writer(request.__header_schema__)(buffer, header)
    _writer(request.__class__)(buffer, request)
    return buffer.getvalue()


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("the broker closed the connection before it answered")
        parts += part
    return bytes(parts)


def _check(action: str, code: Any, message: str | None) -> None:
    if code != 0:
        raise AdminError(action, code.name, message)


def config_text(value: object) -> str:
    """A value of a configuration as Kafka reads it: `True` is written `true`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def _schema(api: str, version: int, part: str) -> Any:
    import_kio_lightly()
    return import_module(f"kio.schema.{api}.v{version}.{part}")


@cache
def _reader(entity: type) -> Any:
    from kio.serial import entity_reader

    return entity_reader(entity)


@cache
def _writer(entity: type) -> Any:
    from kio.serial import entity_writer

    return entity_writer(entity)
