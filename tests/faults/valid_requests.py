"""One valid request of every API at every version that is served: what the hostile peers start from.

They name the topic they are given, and nothing is stored by them: the records are refused for their CRC.
"""

import dataclasses
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from kio.index import load_request_schema
from tests.fakes.node import entity
from tests.integration.clients.raw import frame
from tests.strategies.entities import entity_in, is_array, written

from barnabas.handlers.registry import APIS
from barnabas.records.builder import build_batch
from barnabas.records.record import Record

_HARMLESS = {"validate_only": True, "allow_auto_topic_creation": False, "acks": -1}


def valid_requests(topic: str, topic_id: uuid.UUID) -> Iterator[tuple[str, int, bytes]]:
    """Name of the API, version, frame."""
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            schema = load_request_schema(api.key, version)
            # Any client may have a marker written; no topic has an empty name.
            request = _filled(schema, "" if api.name == "WriteTxnMarkers" else topic, topic_id)
            header = entity(
                schema.__header_schema__,
                {
                    "request_api_key": api.key,
                    "request_api_version": version,
                    "correlation_id": 1,
                    "client_id": "hostile",
                },
            )
            yield api.name, version, frame(written(header) + written(request))


def refused_batch() -> bytes:
    """Records that cannot be stored, whatever is changed around them: their CRC is wrong."""
    good = bytearray(build_batch([Record(0, 1_700_000_000_000, b"key", b"hostile" * 5, ())]))
    good[-1] ^= 0xFF
    return bytes(good)


def _filled(schema: Any, topic: str, topic_id: uuid.UUID) -> Any:
    values: dict[str, Any] = {}
    for field in dataclasses.fields(schema):
        inner = entity_in(field.type)
        if inner is not None and is_array(field.type):
            values[field.name] = (_filled(inner, topic, topic_id),)
        elif inner is not None:
            values[field.name] = _filled(inner, topic, topic_id)
        elif is_array(field.type):
            values[field.name] = (_scalar(field, topic, topic_id),)
        else:
            values[field.name] = _scalar(field, topic, topic_id)
    return schema(**values)


def _scalar(field: "dataclasses.Field[Any]", topic: str, topic_id: uuid.UUID) -> Any:
    if field.name in _HARMLESS:
        return _HARMLESS[field.name]
    match field.metadata["kafka_type"]:
        case "string":
            return topic
        case "bytes":
            return b"hostile"
        case "uuid":
            return topic_id
        case "records":
            return refused_batch()
        case "bool":
            return False
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(0)
        case "int64" if field.name == "timestamp":
            return -1
        case _:
            return 0
