"""Cuts the body of a long request into bodies of the same request with a part of its array each.

A request that names a hundred thousand things is read by kio in one call, which would hold the event loop
for as long as it takes. Cut into parts of a few hundred elements, it is read, and mostly also answered, part
by part. Where the long array is inside of the elements (partitions of a topic), an element with very many
becomes several elements with the same other fields.

The walk is a generator, so that its caller can stop in between. It checks lengths as `wire.lengths`.
"""

import dataclasses
import struct
import typing
from collections.abc import Generator, Iterator
from types import NoneType
from typing import Any, NamedTuple

from barnabas.base.errors import InvalidRequest
from barnabas.wire.lengths import Cut, Step, element_step, step_of, tags_step
from barnabas.wire.primitives import read_unsigned_varint, write_unsigned_varint

_INT32 = struct.Struct(">i")
_ELEMENTS_PER_STEP = 200


class _Piece(NamedTuple):
    """Some whole elements that follow each other, as bytes."""

    elements: int
    weight: int
    """Elements of the innermost array in them."""
    data: memoryview | bytes


class SplitBodies(NamedTuple):
    """Bodies in the order of their elements, and how many elements they have together."""

    bodies: list[bytes]
    total: int


class ArraySplit:
    """Along which array one version of a request is cut: its name, then those inside of its elements."""

    def __init__(self, entity: Any, path: tuple[str, ...], most: int) -> None:
        self._is_flexible: bool = entity.__flexible__
        self._most: int = most
        self._before: list[int | Step] = []
        self._after: list[int | Step] = []
        steps = self._before
        for field in dataclasses.fields(entity):
            if "tag" in field.metadata:
                continue
            if field.name == path[0]:
                steps = self._after
                self._element: int | Step = _element_of(field, is_flexible=self._is_flexible)
                kind = _element_type(field.type)
                self._inner: ArraySplit | None = ArraySplit(kind, path[1:], most) if path[1:] else None
            else:
                steps.append(step_of(field, is_flexible=self._is_flexible))
        if self._is_flexible:
            self._after.append(tags_step(entity))

    def bodies(self, buffer: memoryview, position: int) -> Generator[None, None, SplitBodies | None]:
        """Cut the body at `position`; None if the array is null. Raises InvalidRequest."""
        try:
            start, position = position, self._walk(self._before, buffer, position)
            head = buffer[start:position]
            count, position = self._count(buffer, position)
            if count < 0:
                return None
            pieces, position = yield from self._pieces(buffer, position, count)
            end = self._walk(self._after, buffer, position)
        except (IndexError, struct.error):
            raise InvalidRequest("malformed request: it ends before its last field") from None
        if end > len(buffer):
            raise InvalidRequest("malformed request: it ends before its last field")
        tail = buffer[position:end]
        bodies = [self._joined(head, group, tail) for group in _grouped(pieces, self._most)]
        return SplitBodies(bodies, sum(piece.weight for piece in pieces))

    def _pieces(
        self, buffer: memoryview, position: int, count: int
    ) -> Generator[None, None, tuple[list[_Piece], int]]:
        pieces: list[_Piece] = []
        if self._inner is None:
            for first in range(0, count, self._most):
                start, taken = position, min(self._most, count - first)
                position = self._skip(buffer, position, taken)
                if position > len(buffer):
                    raise IndexError
                pieces.append(_Piece(taken, taken, buffer[start:position]))
                yield
            return pieces, position
        for number in range(count):
            if number % _ELEMENTS_PER_STEP == 0:
                yield
            found, position = yield from self._inner.split_element(buffer, position)
            pieces += found
        return pieces, position

    def split_element(
        self, buffer: memoryview, position: int
    ) -> Generator[None, None, tuple[list[_Piece], int]]:
        """The element of an outer array at `position`, as one element or several."""
        start, position = position, self._walk(self._before, buffer, position)
        head = buffer[start:position]
        count, position = self._count(buffer, position)
        if count <= self._most and self._inner is None:
            position = self._walk(self._after, buffer, self._skip(buffer, position, max(count, 0)))
            if position > len(buffer):
                raise IndexError
            return [_Piece(1, max(count, 1), buffer[start:position])], position
        inner, position = yield from self._pieces(buffer, position, max(count, 0))
        after, position = position, self._walk(self._after, buffer, position)
        if count <= 0 or len(inner) == 1 or sum(piece.weight for piece in inner) <= self._most:
            weight = sum(piece.weight for piece in inner)
            return [_Piece(1, max(weight, 1), buffer[start:position])], position
        tail = buffer[after:position]
        groups = list(_grouped(inner, self._most))
        return [_Piece(1, sum(p.weight for p in g), self._joined(head, g, tail)) for g in groups], position

    def _joined(self, head: memoryview, pieces: list[_Piece], tail: memoryview) -> bytes:
        count = sum(piece.elements for piece in pieces)
        length = write_unsigned_varint(count + 1) if self._is_flexible else _INT32.pack(count)
        return b"".join([head, length, *(piece.data for piece in pieces), tail])

    def _count(self, buffer: memoryview, position: int) -> tuple[int, int]:
        if self._is_flexible:
            count, position = read_unsigned_varint(buffer, position)
            count -= 1
        else:
            count, position = _INT32.unpack_from(buffer, position)[0], position + 4
        if count > len(buffer) - position:
            raise InvalidRequest(f"malformed request: an array of {count} elements, which are not there")
        return count, position

    def _skip(self, buffer: memoryview, position: int, count: int) -> int:
        element = self._element
        if isinstance(element, int):
            return position + element * count
        cuts: list[Cut] = []
        for _ in range(count):
            position = element(buffer, position, cuts)
        return position

    @staticmethod
    def _walk(steps: list[int | Step], buffer: memoryview, position: int) -> int:
        for step in steps:
            position = position + step if isinstance(step, int) else step(buffer, position, [])
        return position


def _grouped(pieces: list[_Piece], most: int) -> Iterator[list[_Piece]]:
    """Pieces that together weigh no more than `most`; one at least, also if there are none."""
    group: list[_Piece] = []
    weight = 0
    for piece in pieces:
        if group and weight + piece.weight > most:
            yield group
            group, weight = [], 0
        group.append(piece)
        weight += piece.weight
    yield group


def _element_type(annotation: Any) -> Any:
    arguments = typing.get_args(annotation)
    if NoneType in arguments:
        annotation = next(each for each in arguments if each is not NoneType)
    return typing.get_args(annotation)[0]


def _element_of(field: "dataclasses.Field[Any]", *, is_flexible: bool) -> int | Step:
    return element_step(field, _element_type(field.type), is_flexible=is_flexible)
