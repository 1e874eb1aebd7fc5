"""Short lives that once ended badly, each by its cause."""

from pathlib import Path

import pytest
from tests.faults.topic_life.life import live
from tests.faults.topic_life.step import Step

_TRACES = {
    "a produce shortcut leads to a deleted topic": [
        Step("create", "c", amount=2),
        Step("produce_idempotent", "c", amount=11, option="none/now"),
        Step("delete", "c"),
        Step("create", "c", amount=2),
        Step("produce_in_transaction", "c", who=1, amount=2, option="snappy/now"),
        Step("produce", "c", amount=1, option="none/now"),
    ],
    "an open transaction begins below the log start": [
        Step("create", "a", amount=1, extras=("flush.messages",)),
        Step("produce_in_transaction", "a", amount=5, option="none/now"),
        Step("delete_records", "a", amount=50),
    ],
    "a log without a readable topic id is taken for an older topic's": [
        Step("create", "a", amount=1, extras=("flush.messages",)),
        Step("produce", "a", amount=3, option="none/now"),
        Step("restart", option="kill", extras=("empty:partition.metadata",)),
    ],
    "a clean stop with a damaged topic id takes a partition out of service": [
        Step("create", "a", amount=2),
        Step("produce", "a", amount=3, option="none/now"),
        Step("restart", option="clean", extras=("empty:partition.metadata", "garbage:partition.metadata")),
        Step("restart", option="clean"),
    ],
    "a kill with damaged topic ids takes a partition out of service after the next clean stop": [
        Step("create", "a", amount=2),
        Step("restart", option="kill", extras=("empty:partition.metadata", "garbage:partition.metadata")),
        Step("restart", option="clean"),
    ],
}


@pytest.mark.parametrize("name", _TRACES)
def test_trace_is_lived_without_a_violation(name: str, tmp_path: Path) -> None:
    lived = live(_TRACES[name], tmp_path)

    assert lived.failure is None, str(lived.failure)
