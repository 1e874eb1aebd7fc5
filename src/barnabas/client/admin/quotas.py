"""Quotas of clients, users and addresses: DescribeClientQuotas and AlterClientQuotas (KIP-546).

An entity is named by its parts, a kind and a name each: `(("user", "alice"), ("client-id", "app"))`. The name
"" is the default of that kind, for entities without a quota of their own.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import check

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""Kinds of parts, as the protocol names them."""

CLIENT_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
"""What can be limited for users and clients."""
IP_QUOTAS = ("connection_creation_rate",)

_EXACT, _DEFAULT, _ANY = 0, 1, 2
_ORDER = {USER: 0, CLIENT_ID: 1, IP: 2}

Part = tuple[str, str]
Wanted = tuple[str, str | None]
"""A part to match. None matches any name."""


class Quotas(NamedTuple):
    entity: tuple[Part, ...]
    """User before client."""
    values: Mapping[str, float]


def describe_quotas(cluster: Cluster, wanted: Sequence[Wanted]) -> list[Quotas]:
    """The quotas of all entities with exactly these parts, sorted by name."""
    answer = cluster.request(
        "describe_client_quotas", components=[_component(kind, name) for kind, name in wanted], strict=True
    )
    check(answer.error_code, answer.error_message)
    found = [
        Quotas(
            tuple(sorted(((part.entity_type, part.entity_name or "") for part in entry.entity), key=_rank)),
            {each.key: each.value for each in sorted(entry.values, key=lambda value: str(value.key))},
        )
        for entry in answer.entries or ()
    ]
    return sorted(found, key=lambda quotas: quotas.entity)


def alter_quotas(cluster: Cluster, entity: Sequence[Part], changes: Mapping[str, float | None]) -> None:
    """None removes a quota."""
    answer = cluster.request(
        "alter_client_quotas",
        entries=[
            {
                "entity": [{"entity_type": kind, "entity_name": name or None} for kind, name in entity],
                "ops": [
                    {"key": key, "value": value or 0.0, "remove": value is None}
                    for key, value in changes.items()
                ],
            }
        ],
        validate_only=False,
    )
    for entry in answer.entries:
        check(entry.error_code, entry.error_message)


def _component(kind: str, name: str | None) -> dict[str, object]:
    if name is None:
        return {"entity_type": kind, "match_type": _ANY, "match": None}
    if not name:
        return {"entity_type": kind, "match_type": _DEFAULT, "match": None}
    return {"entity_type": kind, "match_type": _EXACT, "match": name}


def _rank(part: Part) -> int:
    return _ORDER.get(part[0], len(_ORDER))
