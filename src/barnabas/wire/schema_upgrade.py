"""An entity of an older version of a schema in the shape of a newer one: what it lacks takes its default."""

import dataclasses
from collections.abc import Callable
from typing import Any

from barnabas.wire.schema_fields import default_of, entity_of


def upgrader(old: type, new: type) -> Callable[..., Any]:
    """A function from an `old` (and, if wanted, a dict of fields that were renamed) to a `new`."""
    old_fields = {field.name: field for field in dataclasses.fields(old)}
    carried: list[tuple[str, Callable[[Any], Any] | None]] = []
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(new):
        if field.name in old_fields:
            inner_old, inner_new = entity_of(old_fields[field.name].type), entity_of(field.type)
            nested = upgrader(inner_old, inner_new) if inner_old and inner_new else None
            carried.append((field.name, nested))
        else:
            defaults[field.name] = default_of(field)

    def upgrade(raw: Any, extra: dict[str, Any] | None = None) -> Any:
        values = dict(defaults)
        for name, nested in carried:
            value = getattr(raw, name)
            if nested is not None and value is not None:
                value = tuple(map(nested, value)) if isinstance(value, tuple) else nested(value)
            values[name] = value
        if extra:
            values.update(extra)
        return new(**values)

    return upgrade
