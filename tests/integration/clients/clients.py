"""The clients as parameters of tests, with what each needs on the machine."""

import itertools

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


every_client = pytest.mark.parametrize("client", [_parameter(name) for name in NAMES])
every_pair = pytest.mark.parametrize(
    ("writer", "reader"), [_parameter(*pair) for pair in itertools.product(NAMES, NAMES)]
)
