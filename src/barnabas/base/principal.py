"""Who a client is: the name that access control lists, quotas and logs use for it."""

from typing import NamedTuple


class Principal(NamedTuple):
    """As text `User:alice`, as in Kafka."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")
"""A client that did not authenticate."""
