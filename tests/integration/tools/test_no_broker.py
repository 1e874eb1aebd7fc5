"""Without a broker every tool fails soon with one line. Numbers out of Java's range are rejected."""

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from tests.integration.tools.programs import run_inside

_TOPIC = ("--topic", "t")
TOOLS: Mapping[str, Sequence[str]] = {
    "kafka-acls": ["--list"],
    "kafka-broker-api-versions": [],
    "kafka-cluster": ["cluster-id"],
    "kafka-configs": ["--describe", "--entity-type", "topics"],
    "kafka-console-consumer": _TOPIC,
    "kafka-console-producer": _TOPIC,
    "kafka-consumer-groups": ["--list"],
    "kafka-consumer-perf-test": [*_TOPIC, "--num-records", "1", "--hide-header"],
    "kafka-delete-records": ["--offset-json-file", "offsets.json"],
    "kafka-e2e-latency": [*_TOPIC, "--num-records", "1", "--producer-acks", "1", "--record-size", "1"],
    "kafka-features": ["describe"],
    "kafka-get-offsets": [],
    "kafka-leader-election": ["--election-type", "preferred", "--all-topic-partitions"],
    "kafka-log-dirs": ["--describe"],
    "kafka-preferred-replica-election": [],
    "kafka-producer-perf-test": [*_TOPIC, "--num-records", "1", "--record-size", "1", "--throughput", "1"],
    "kafka-reassign-partitions": ["--list"],
    "kafka-topics": ["--list"],
    "kafka-transactions": ["list"],
    "kafka-verifiable-consumer": [*_TOPIC, "--group-id", "g"],
    "kafka-verifiable-producer": _TOPIC,
}
COMMANDS: Sequence[Sequence[str]] = [
    ["acl", "list"],
    ["cluster", "info"],
    ["cluster", "apis"],
    ["cluster", "disks"],
    ["cluster", "features"],
    ["config", "list", "topic"],
    ["consume", "t"],
    ["group", "list"],
    ["group", "watch", "g"],
    ["perf", "consume", "t"],
    ["perf", "produce", "t"],
    ["produce", "t"],
    ["reassign", "plan", "t"],
    ["record", "offsets", "t"],
    ["topic", "list"],
    ["transaction", "list"],
]
_BEFORE_THE_QUESTION = (
    "Executing records delete operation",
    "This tool is deprecated. Please use kafka-leader-election tool. Tracking issue: KAFKA-8405",
)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A listener that accepts connections and never sends a byte."""
    monkeypatch.setattr("barnabas.client.settings.CONNECT_TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and line not in _BEFORE_THE_QUESTION]


@pytest.mark.parametrize("program", TOOLS)
def test_tool_gives_up_on_a_peer_that_says_nothing(
    program: str, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entry = {"topic": "t", "partition": 0, "offset": 1}
    Path("offsets.json").write_text(json.dumps({"version": 1, "partitions": [entry]}))
    ran = run_inside(program, *TOOLS[program], "--bootstrap-server", silent)
    (line,) = _lines(ran.stdout + ran.stderr)
    assert f"No broker answers ({silent} accepted the connection and did not respond for 0.1 s)" in line
    assert ran.code == 1


@pytest.mark.parametrize("words", [pytest.param(each, id=" ".join(each)) for each in COMMANDS])
def test_command_gives_up_on_a_peer_that_says_nothing(words: Sequence[str], silent: str) -> None:
    ran = run_inside("barnabas", *words, "-b", silent)
    assert ran.stderr.startswith(f"barnabas: No broker answers ({silent} accepted the connection")
    assert (ran.stdout, ran.stderr.count("\n"), ran.code) == ("", 1, 1)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["kafka-topics", "--create", *_TOPIC, "--partitions", "2147483648"], "Cannot parse argument"),
        (
            ["kafka-producer-perf-test", *_TOPIC, "--num-records", "1", "--record-size", "99999999999"],
            "Cannot parse argument",
        ),
        (
            ["kafka-console-consumer", *_TOPIC, "--partition", "0", "--offset", "9223372036854775808"],
            "The provided offset value '9223372036854775808' is incorrect.",
        ),
    ],
)
def test_number_that_java_could_not_hold_is_refused(words: Sequence[str], line: str) -> None:
    ran = run_inside(*words, "--bootstrap-server", "127.0.0.1:1")
    assert ran.stderr.startswith(line)
    assert (ran.stdout, ran.stderr.count("\n"), ran.code) == ("", 2, 1)
