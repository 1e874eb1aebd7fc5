from typing import Any, cast

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.testing.broker import Broker
from barnabas.testing.fault_stage import Injected
from barnabas.testing.faults import Faults


class FakeBroker:
    def __init__(self, *, running: bool = True, paused: bool = False) -> None:
        self.running = running
        self.paused = paused
        self.commands: list[tuple[str, dict[str, Any]]] = []

    def command(self, verb: str, **arguments: Any) -> Any:
        self.commands.append((verb, arguments))
        entry = {
            "kind": "error",
            "api": "Fetch",
            "version": 4,
            "client_id": None,
            "topics": ["t"],
            "error": "X",
        }
        return [entry] if verb == "faults.log" else None


def _faults(*brokers: FakeBroker) -> Faults:
    return Faults(lambda: cast(list[Broker], list(brokers)))


def test_rule_goes_to_every_running_broker() -> None:
    first, stopped, paused = FakeBroker(), FakeBroker(running=False), FakeBroker(paused=True)
    _faults(first, stopped, paused).error("Produce", "not_leader_or_follower", times=3, topic="t")
    rule = {"kind": "error", "api_key": 0, "times": 3, "topic": "t", "client_id": None, "code": 6}
    assert first.commands == [("faults.add", rule)]
    assert stopped.commands == paused.commands == []


@pytest.mark.parametrize(
    "name", ["DescribeTopicPartitions", "describe_topic_partitions", "DESCRIBETOPICPARTITIONS"]
)
def test_api_may_be_written_as_kafka_and_as_python_write_it(name: str) -> None:
    broker = FakeBroker()
    _faults(broker).delay(name, seconds=0.5)
    assert broker.commands[0][1]["api_key"] == 75


@pytest.mark.parametrize("error", ["FENCED_LEADER_EPOCH", 74, ErrorCode.fenced_leader_epoch])
def test_error_may_be_a_name_a_number_or_a_code(error: Any) -> None:
    broker = FakeBroker()
    _faults(broker).error("Fetch", error)
    assert broker.commands[0][1]["code"] == 74


def test_unknown_names_and_numbers_are_clear_errors() -> None:
    faults = _faults(FakeBroker())
    with pytest.raises(
        ValueError, match=r"^'Prodce' is not an API that this broker serves; did you mean Produce\?"
    ):
        faults.error("Prodce", "NOT_LEADER_OR_FOLLOWER")
    with pytest.raises(ValueError, match="'LeaderAndIsr' is not an API"):
        faults.disconnect("LeaderAndIsr")
    with pytest.raises(ValueError, match=r"'NOT_LEADER' is not an error of Kafka; did you mean NOT_"):
        faults.error("Produce", "NOT_LEADER")
    for wrong in (0, 9999, "NONE"):
        with pytest.raises(ValueError, match="is not an error of Kafka"):
            faults.error("Produce", wrong)
    with pytest.raises(ValueError, match="times=0"):
        faults.disconnect(times=0)
    with pytest.raises(ValueError, match="seconds=-1"):
        faults.throttle(seconds=-1)
    with pytest.raises(RuntimeError, match="no broker is running"):
        _faults().disconnect()


def test_log_has_the_faults_of_all_brokers() -> None:
    injected = Injected("error", "Fetch", 4, None, ("t",), "X")
    assert _faults(FakeBroker(), FakeBroker()).log == [injected, injected]
