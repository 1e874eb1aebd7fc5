"""kafka-consumer-groups on groups that have members: ours and Apache Kafka's tool look at the same group."""

import time
import uuid
from collections.abc import Callable, Mapping

import pytest
from tests.integration.tools.live_members import commit_one, live_members, make_topic
from tests.integration.tools.parity import Setup
from tests.integration.tools.programs import Ran
from tests.integration.tools.scenario import Way, step
from tests.patience import PATIENCE

_VIEWS = ("", "--verbose", "--members", "--members --verbose", "--state", "--state --verbose")


def _run(setup: Setup, words: str) -> Ran:
    made = step(f"kafka-consumer-groups --bootstrap-server {setup.broker.bootstrap_servers} {words}")
    return setup.tools.run(made, made.arguments, "")


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("broker", ["apache", "barnabas"])
def test_both_tools_print_the_same_for_a_group_with_members(
    setups: Mapping[Way, Setup], protocol: str, broker: str
) -> None:
    ours, theirs = setups[Way(f"ours@{broker}")], setups[Way(f"theirs@{broker}")]
    salt = uuid.uuid4().hex[:8]
    group, topic = f"group-{salt}", f"topic-{salt}"
    bootstrap = ours.broker.bootstrap_servers
    make_topic(bootstrap, topic, 3, records_each=2)
    with live_members(
        bootstrap, group, topic, count=2, protocol=protocol, instance_ids=["a-static-member"]
    ) as members:
        commit_one(members[0], topic, members[0].assignment()[0].partition, 1)
        _until(lambda: " Stable " in _run(ours, f"--describe --group {group} --state").stdout)
        for words in (
            *(f"--describe --group {group} {view}" for view in _VIEWS),
            f"--reset-offsets --group {group} --topic {topic} --to-earliest --execute",
            f"--delete --group {group}",
            f"--delete-offsets --group {group} --topic {topic}",
        ):
            assert _run(ours, words) == _run(theirs, words), words
