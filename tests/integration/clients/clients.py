"""The clients as parameters of tests, with what each needs on the machine."""

import itertools
from collections.abc import Collection

import pytest

_NEEDS = {
    "confluent": ("confluent_kafka",),
    "kafka-python": ("kafka", "snappy", "lz4", "zstandard"),
    "aiokafka": ("aiokafka",),
    "kcat": ("kcat",),
    "java": ("java", "javac", "maven"),
}
NAMES = tuple(_NEEDS)


def _parameter(*names: str) -> object:
    needed = dict.fromkeys(need for name in names for need in _NEEDS[name])
    marks = [pytest.mark.needs(*needed)]
    if "kafka-python" in names:
        # It forgets the sockets of connections that were refused, and the collector finds them unclosed.
        marks.append(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
    return pytest.param(*names, marks=marks, id="-to-".join(dict.fromkeys(names)))


MEMBERS = {
    "confluent": ("confluent_kafka",),
    "confluent-new": ("confluent_kafka",),
    "kafka-python": ("kafka",),
    "aiokafka": ("aiokafka",),
    "java": ("java", "javac", "maven"),
    "java-new": ("java", "javac", "maven"),
}
"""What can be a member of a group; `-new` speaks the protocol of KIP-848."""


def _member(*names: str, more: tuple[object, ...] = (), soak: Collection[str] = ()) -> object:
    needed = dict.fromkeys(need for name in names for need in MEMBERS[name])
    marks = [pytest.mark.needs(*needed)]
    if "kafka-python" in names:
        marks.append(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
    if set(names) & set(soak):
        marks.append(pytest.mark.soak)
    return pytest.param(*names, *more, marks=marks, id="-".join(map(str, (*dict.fromkeys(names), *more))))


def some_members(*names: str, soak: Collection[str] = ()) -> pytest.MarkDecorator:
    """The test runs for each of these clients, as the parameter `client`; with some it takes long."""
    return pytest.mark.parametrize("client", [_member(name, soak=soak) for name in names])


def members_with(parameter: str, *pairs: tuple[str, object]) -> pytest.MarkDecorator:
    """Runs for each (client, value of the parameter)."""
    return pytest.mark.parametrize(
        ("client", parameter), [_member(name, more=(value,)) for name, value in pairs]
    )


def pairs_of_members(first: str, second: str, *pairs: tuple[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize((first, second), [_member(*pair) for pair in pairs])


TRANSACTORS = ("confluent", "kafka-python", "aiokafka", "java")
"""What can write in transactions: Java in version 2 (KIP-890), the others in version 1."""
every_transactor = pytest.mark.parametrize("client", [_parameter(name) for name in TRANSACTORS])


def transactors_with(parameter: str, *values: object) -> pytest.MarkDecorator:
    """Each client with one of the values."""
    pairs = zip(TRANSACTORS, values, strict=True)
    return pytest.mark.parametrize(
        ("client", parameter), [_member(name, more=(value,)) for name, value in pairs]
    )


readers_of_transactions = pytest.mark.parametrize(
    ("writer", "reader"),
    [_parameter(name, name) for name in TRANSACTORS]
    + [_parameter(*pair) for pair in (("confluent", "java"), ("java", "kcat"), ("aiokafka", "confluent"))],
)
every_member = some_members(*MEMBERS)
every_client = pytest.mark.parametrize("client", [_parameter(name) for name in NAMES])
every_pair = pytest.mark.parametrize(
    ("writer", "reader"), [_parameter(*pair) for pair in itertools.product(NAMES, NAMES)]
)
