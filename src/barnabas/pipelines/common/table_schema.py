"""Schemas of tables, in the JSON that Spark and Delta Lake share: what may be added, what is refused."""

import json
from typing import Any


class SchemaConflict(ValueError):
    """A column of the same name and another type."""


def nullable(schema: str) -> dict[str, Any]:
    """The schema with every column and element nullable: whether rows of one batch have nulls says nothing
    about the next.
    """
    found: dict[str, Any] = _nullable(json.loads(schema))
    return found


def added_fields(table: dict[str, Any], frame: dict[str, Any]) -> list[dict[str, Any]]:
    """Columns that the table does not have yet. Raises SchemaConflict.

    A column that the frame lacks is null in its rows.
    """
    known = {field["name"]: field["type"] for field in table["fields"]}
    for field in frame["fields"]:
        name, kind = field["name"], field["type"]
        if name in known and known[name] != kind:
            raise SchemaConflict(f"column {name} is {_shown(known[name])} in the table, {_shown(kind)} here")
    return [field for field in frame["fields"] if field["name"] not in known]


def _nullable(part: Any) -> Any:
    if isinstance(part, list):
        return [_nullable(each) for each in part]
    if not isinstance(part, dict):
        return part
    changed = {key: value if key == "metadata" else _nullable(value) for key, value in part.items()}
    if "name" in changed:
        changed |= {"nullable": True, "metadata": {}}
    for key in ("containsNull", "valueContainsNull"):
        if key in changed:
            changed[key] = True
    return changed


def _shown(kind: Any) -> str:
    return kind if isinstance(kind, str) else json.dumps(kind)
