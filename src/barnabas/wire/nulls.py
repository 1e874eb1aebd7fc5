"""Arrays that may not be null, and are: kio's reader lets them pass where the length of an old version is -1.

Handlers iterate over what the schema promises, so such a request is refused before it reaches one, as Kafka does.
"""

import dataclasses
import typing
from collections.abc import Callable
from types import NoneType
from typing import Any

Check = Callable[[Any], None]


def null_check(entity: type) -> Check | None:
    """A function that raises ValueError for a null array in an instance; None if there is nothing to check."""
    plan: list[tuple[str, bool, Check | None]] = []
    for field in dataclasses.fields(entity):
        inner = _entity_in(field.type)
        nested = None if inner is None else null_check(inner)
        is_required_array = typing.get_origin(field.type) is tuple
        if is_required_array or nested is not None:
            plan.append((field.name, is_required_array, nested))
    if not plan:
        return None

    def check(value: Any) -> None:
        for name, is_required, nested in plan:
            held = getattr(value, name)
            if held is None:
                if is_required:
                    raise ValueError(f"{name} is null")
            elif nested is not None:
                for each in held if isinstance(held, tuple) else (held,):
                    nested(each)

    return check


def _entity_in(annotation: Any) -> type | None:
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return annotation
    arguments = [each for each in typing.get_args(annotation) if each not in (NoneType, Ellipsis)]
    return next(filter(None, map(_entity_in, arguments)), None)
