"""Records for the tests of groups: written without a client library, distinguished by their values."""

from collections.abc import Iterable

from tests.integration.clients.drivers.member import Member
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce

from barnabas.testing import Broker


def fill(broker: Broker, topic: str, *, partitions: int, each: int, first: int = 0) -> list[bytes]:
    """`each` records to every partition; the values, `partition:number`, in the order of the partitions."""
    written: list[bytes] = []
    with RawClient(broker.port) as client:
        for partition in range(partitions):
            values = [b"%d:%d" % (partition, number) for number in range(first, first + each)]
            assert produce(client, topic, batch(*values), partition=partition).error_code == 0
            written += values
    return written


def all_values(members: Iterable[Member]) -> list[bytes]:
    return [value for member in members for value in member.values]
