"""The response to a long request, encoded element by element while it is made.

What is kept of an answer of a hundred thousand elements is bytes, not objects: nothing for the garbage
collector to walk through, and nothing left to encode at once at the end.

The parts of a request that was cut inside of an element (a topic with very many partitions) are answered by
several elements that differ only in the inner array: they are put together again.
"""

import secrets
from collections.abc import Callable
from typing import Any

from barnabas.wire.reply import EncodedArray, Reply
from barnabas.wire.reply_writer import item_writer
from barnabas.wire.schema_fields import entity_of
from barnabas.wire.schemas import encode_by_schema, response_schema

_CHUNK = 64 * 1024


class _Array:
    """One array of the response; `path` names the arrays inside of its elements that are put together."""

    def __init__(self, entity: Any, name: str, path: tuple[str, ...], known: frozenset[str]) -> None:
        field = entity.__dataclass_fields__[name]
        self._write: Callable[[Any], bytes] = item_writer(entity, name, known)
        self._element: Any = entity_of(field.type)
        self._path: tuple[str, ...] = path
        self._known: frozenset[str] = known
        self._open: Reply | None = None
        self._inner: _Array | None = None
        self._length: int = 0
        self._chunks: list[bytes | bytearray] = []

    def add(self, value: Any) -> None:
        if not self._path:
            self._append(self._write(value))
            return
        inner_name = self._path[0]
        if self._open is None or not _differ_only_in(inner_name, self._open, value):
            self._close()
            self._open = value
            self._inner = _Array(self._element, inner_name, self._path[1:], self._known)
        assert self._inner is not None
        for each in vars(value).get(inner_name, ()):
            self._inner.add(each)

    def encoded(self) -> EncodedArray:
        self._close()
        return EncodedArray(self._length, self._chunks)

    def _append(self, element: bytes) -> None:
        self._length += 1
        last = self._chunks[-1] if self._chunks else None
        if isinstance(last, bytearray) and len(last) + len(element) <= _CHUNK:
            last += element
        else:
            self._chunks.append(element if len(element) > _CHUNK else bytearray(element))

    def _close(self) -> None:
        if self._open is not None and self._inner is not None:
            whole = Reply(**{**vars(self._open), self._path[0]: self._inner.encoded()})
            self._append(self._write(whole))
        self._open = self._inner = None


class ReplyCollector:
    """Takes the elements of one array of a response, then the rest of it."""

    def __init__(self, api_key: int, version: int, path: tuple[str, ...]) -> None:
        schema = response_schema(api_key, version)
        self._api_key: int = api_key
        self._version: int = version
        self._name: str = path[0]
        self._array: _Array = _Array(schema.entity, path[0], path[1:], schema.known)

    def add(self, element: Any) -> None:
        self._array.add(element)

    def encode(self, correlation_id: int, rest: Reply) -> list[bytes | bytearray]:
        """Header and body in pieces, never joined: an answer may have 50 MB. `rest` has the other fields."""
        array = self._array.encoded()
        mark = secrets.token_bytes(16)
        reply = Reply(**{**vars(rest), self._name: EncodedArray(array.length, [mark])})
        around = encode_by_schema(self._api_key, self._version, correlation_id, reply)
        before, _, after = around.partition(mark)
        return [before, *array.chunks, after]


def _differ_only_in(name: str, one: Reply, other: Reply) -> bool:
    mine, theirs = vars(one), vars(other)
    return mine.keys() == theirs.keys() and all(mine[key] == theirs[key] for key in mine if key != name)
