import subprocess
import sys

import pytest

from barnabas.testing import broker

_FAKE = """
import pytest
from barnabas.testing import broker

class FakeBroker:
    def __init__(self, **arguments):
        self.arguments = arguments
        self.names = {"__consumer_offsets"}
        self.starts = 0
        self.faults = self
        self.cleared = 0
        self.up = False
    def start(self):
        self.starts += not self.up
        self.up = True
        return self
    def clear(self):
        self.cleared += 1
    def kill(self):
        self.up = False
    def __enter__(self):
        return self.start()
    def __exit__(self, *error):
        self.up = False
    def topics(self):
        assert self.up
        return set(self.names)
    def create_topic(self, name, partitions=1, config=None):
        self.names.add(name)
        self.last = (name, partitions, config)
    def delete_topics(self, names):
        self.names -= set(names)

broker.Broker = FakeBroker
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A test suite with a fake instead of the broker."""
    # The suite runs in this process: the fake that its conftest installs must be removed.
    monkeypatch.setattr(broker, "Broker", broker.Broker)
    pytester.makeconftest(_FAKE)
    return pytester


def _run(suite: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return suite.runpytest("-p", "no:randomly", "-p", "no:cacheprovider", "--strict-markers", *arguments)


def test_plugin_imports_nothing_but_itself() -> None:
    program = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import barnabas.testing.plugin\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "['barnabas', 'barnabas.testing', 'barnabas.testing.plugin']\n"


def test_suite_gets_a_running_broker_by_installing_the_package(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_it(kafka_broker): assert kafka_broker.up")
    _run(suite).assert_outcomes(passed=1)


def test_topics_of_one_test_are_deleted_before_the_next(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        def test_one(kafka_broker, kafka_topic):
            kafka_broker.names.add("auto-created")
            assert kafka_topic in kafka_broker.topics()

        def test_two(kafka_broker):
            assert kafka_broker.topics() == {"__consumer_offsets"}
        """
    )
    _run(suite).assert_outcomes(passed=2)


def test_topics_of_a_longer_living_fixture_stay(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def orders(kafka_broker_session):
            kafka_broker_session.create_topic("orders")

        def test_one(orders, kafka_broker): assert "orders" in kafka_broker.topics()
        def test_two(orders, kafka_broker): assert "orders" in kafka_broker.topics()
        """
    )
    _run(suite).assert_outcomes(passed=2)


def test_broker_that_a_test_killed_runs_again_for_the_next(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        def test_one(kafka_broker): kafka_broker.kill()
        def test_two(kafka_broker): assert kafka_broker.up and kafka_broker.starts == 2
        """
    )
    _run(suite).assert_outcomes(passed=2)


def test_topic_has_a_legal_unique_name_and_what_the_marker_says(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import re
        import pytest

        seen = set()

        @pytest.mark.kafka_topic(partitions=3, config={"cleanup.policy": "compact"})
        @pytest.mark.parametrize("word", ["a b/c", "a b/c", "x" * 300], ids=["1 /ä", "2", "x" * 300])
        def test_it(kafka_broker, kafka_topic, word):
            assert kafka_broker.last == (kafka_topic, 3, {"cleanup.policy": "compact"})
            assert re.fullmatch("[a-zA-Z0-9-]{1,249}", kafka_topic)
            assert kafka_topic not in seen
            seen.add(kafka_topic)
        """
    )
    _run(suite).assert_outcomes(passed=3)


def test_factory_starts_brokers_for_one_test(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        made = []

        def test_one(kafka_broker_factory):
            made.append(kafka_broker_factory(config={"num.partitions": 2}))
            made.append(kafka_broker_factory(process=True))
            assert all(broker.up for broker in made)
            assert made[0].arguments == {"process": False, "config": {"num.partitions": 2}}
            assert made[1].arguments == {"process": True}

        def test_two():
            assert len(made) == 2 and not any(broker.up for broker in made)
        """
    )
    _run(suite).assert_outcomes(passed=2)


def test_mode_and_settings_come_from_options(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\nkafka_broker_config =\n    num.partitions = 4\n    log.retention.ms=1000\n")
    suite.makepyfile(
        """
        def test_it(kafka_broker):
            expected = {"num.partitions": "4", "log.retention.ms": "1000"}
            assert kafka_broker.arguments == {"process": True, "config": expected}
        """
    )
    _run(suite, "--kafka-broker-mode=process").assert_outcomes(passed=1)


def test_wrong_mode_in_the_ini_file_is_explained(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\nkafka_broker_mode = threads\n")
    suite.makepyfile("def test_it(kafka_broker): pass")
    result = _run(suite)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*kafka_broker_mode = 'threads': expected one of thread, process*"])
