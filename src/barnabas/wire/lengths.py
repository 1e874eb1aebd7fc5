"""A request is walked by its lengths alone before kio reads it.

kio's reader reserves memory for as many elements as an array announces, and ends the process when there is
none: four bytes of a stranger would stop the broker. It also lets null pass where the schema has no null. So
an array of more elements than bytes follow, or one that must not be null and is, is refused here.

kio refuses tagged fields it does not know; a broker has to pass over them (KIP-482), as a newer client may
send them. The walk finds them, and they are cut out before kio reads. It costs a few microseconds.
"""

import dataclasses
import struct
import typing
from collections.abc import Callable
from types import NoneType
from typing import Any

from barnabas.base.errors import InvalidRequest
from barnabas.wire.primitives import read_unsigned_varint, write_unsigned_varint

Cut = tuple[int, int, bytes]
"""Start and end of a section of tags that has unknown ones, and the section without them."""
Step = Callable[[memoryview, int, list[Cut]], int]
"""From the position of a field to that of the next one."""

MOST_ELEMENTS = 20_000
"""In one array that is read at once: reading takes a microsecond for each. Long requests are cut before
(`wire.array_split`); what is left are arrays that no client makes so long.
"""
_MOST_NUMBERS = 10 * MOST_ELEMENTS
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_FIXED = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "float64": 8,
    "uuid": 16,
}


def checked(buffer: memoryview, position: int, check: Step) -> tuple[memoryview, int]:
    """Returns buffer and position for kio: those given, or a copy without the unknown tagged fields."""
    cuts: list[Cut] = []
    check(buffer, position, cuts)
    if not cuts:
        return buffer, position
    parts: list[bytes | memoryview] = []
    for start, end, replacement in cuts:
        parts += [buffer[position:start], replacement]
        position = end
    parts.append(buffer[position:])
    return memoryview(b"".join(parts)), 0


def length_check(entity: Any) -> Step:
    """A function that raises InvalidRequest for lengths that cannot be; it goes to the entity's end."""
    walk = _walk_of(entity)

    def check(buffer: memoryview, position: int, cuts: list[Cut]) -> int:
        try:
            end = walk(buffer, position, cuts)
        except (IndexError, struct.error):
            end = len(buffer) + 1
        if end > len(buffer):
            raise InvalidRequest("malformed request: it ends before its last field")
        return end

    return check


def _walk_of(entity: Any) -> Step:
    plan = _plan_of(entity)

    def walk(buffer: memoryview, position: int, cuts: list[Cut]) -> int:
        for step in plan:
            position = position + step if isinstance(step, int) else step(buffer, position, cuts)
        return position

    return walk


def _plan_of(entity: Any) -> list[int | Step]:
    """The fields one after another; those of a fixed size that follow each other are one step."""
    plan: list[int | Step] = []
    for field in dataclasses.fields(entity):
        if "tag" in field.metadata:
            continue
        step = step_of(field, is_flexible=entity.__flexible__)
        if isinstance(step, int) and plan and isinstance(plan[-1], int):
            plan[-1] += step
        else:
            plan.append(step)
    if entity.__flexible__:
        plan.append(tags_step(entity))
    return plan


def tags_step(entity: Any) -> Step:
    """Over the tagged fields at the end of an entity of a flexible version."""
    return _tags(
        {
            field.metadata["tag"]: _as_function(step_of(field, is_flexible=True))
            for field in dataclasses.fields(entity)
            if "tag" in field.metadata
        }
    )


def step_of(field: "dataclasses.Field[Any]", *, is_flexible: bool) -> int | Step:
    arguments = typing.get_args(field.type)
    is_nullable = NoneType in arguments
    kind = next(each for each in arguments if each is not NoneType) if is_nullable else field.type
    if typing.get_origin(kind) is tuple:
        return _array(field, typing.get_args(kind)[0], is_flexible=is_flexible, is_nullable=is_nullable)
    if dataclasses.is_dataclass(kind):
        walk = _walk_of(kind)
        return _nullable(walk) if is_nullable else walk
    return _scalar(field.metadata["kafka_type"], is_flexible=is_flexible)


def _scalar(kafka_type: str, *, is_flexible: bool) -> int | Step:
    if kafka_type in _FIXED:
        return _FIXED[kafka_type]
    if is_flexible:
        return _skip_compact
    return _skip_string if kafka_type == "string" else _skip_bytes


def _skip_compact(buffer: memoryview, position: int, cuts: list[Cut]) -> int:
    size = buffer[position]
    if size < 0x80:  # nearly all of them
        position += 1
    else:
        size, position = read_unsigned_varint(buffer, position)
    return position + size - 1 if size else position


def _skip_string(buffer: memoryview, position: int, cuts: list[Cut]) -> int:
    (size,) = _INT16.unpack_from(buffer, position)
    return position + 2 + max(int(size), 0)


def _skip_bytes(buffer: memoryview, position: int, cuts: list[Cut]) -> int:
    (size,) = _INT32.unpack_from(buffer, position)
    return position + 4 + max(int(size), 0)


def _nullable(walk: Step) -> Step:
    def step(buffer: memoryview, position: int, cuts: list[Cut]) -> int:
        # One byte precedes it: -1 for null, 1 for a structure that follows.
        return position + 1 if buffer[position] == 0xFF else walk(buffer, position + 1, cuts)

    return step


def element_step(field: "dataclasses.Field[Any]", kind: Any, *, is_flexible: bool) -> int | Step:
    """Over one element of an array: its size if that is fixed."""
    if not dataclasses.is_dataclass(kind):
        return _scalar(field.metadata["kafka_type"], is_flexible=is_flexible)
    plan = _plan_of(kind)
    if len(plan) == 1 and isinstance(plan[0], int):
        return plan[0]
    return _walk_of(kind)


def _array(field: "dataclasses.Field[Any]", kind: Any, *, is_flexible: bool, is_nullable: bool) -> Step:
    name = field.name
    element = element_step(field, kind, is_flexible=is_flexible)

    def step(buffer: memoryview, position: int, cuts: list[Cut]) -> int:
        if is_flexible:
            count = buffer[position]
            if count < 0x80:
                position += 1
            else:
                count, position = read_unsigned_varint(buffer, position)
            count -= 1
        else:
            count, position = _INT32.unpack_from(buffer, position)[0], position + 4
        if count < 0:
            if count < -1 or not is_nullable:
                raise InvalidRequest(f"malformed request: {name} has {count} elements")
            return position
        if count > len(buffer) - position:
            raise InvalidRequest(f"malformed request: {name} has {count} elements, which are not there")
        if count > (_MOST_NUMBERS if isinstance(element, int) else MOST_ELEMENTS):
            raise InvalidRequest(f"{name} has {count} elements, more than this broker reads at once")
        if isinstance(element, int):
            return position + element * count
        for _ in range(count):
            position = element(buffer, position, cuts)
        return position

    return step


def _tags(known: dict[int, Step]) -> Step:
    def step(buffer: memoryview, position: int, cuts: list[Cut]) -> int:
        if buffer[position] == 0:
            return position + 1
        start = position
        kept: list[memoryview] = []
        count, position = read_unsigned_varint(buffer, position)
        for _ in range(count):
            begin = position
            tag, position = read_unsigned_varint(buffer, position)
            size, position = read_unsigned_varint(buffer, position)
            if tag in known:
                _walk_tagged(known[tag], buffer, position)
                kept.append(buffer[begin : position + size])
            position += size
        if len(kept) < count:
            cuts.append((start, position, b"".join([write_unsigned_varint(len(kept)), *kept])))
        return position

    return step


def _walk_tagged(step: Step, buffer: memoryview, position: int) -> None:
    inner: list[Cut] = []
    step(buffer, position, inner)
    if inner:
        # Its size would have to change with it; no client has a reason to send this.
        raise InvalidRequest("malformed request: unknown tags inside of a tagged field")


def _as_function(step: int | Step) -> Step:
    if isinstance(step, int):
        size = step
        return lambda buffer, position, cuts: position + size
    return step
