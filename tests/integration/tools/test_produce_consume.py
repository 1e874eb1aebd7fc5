"""`barnabas produce` and `barnabas consume` with our broker."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.tools.programs import Ran, run_inside, start

from barnabas.testing import Broker


@pytest.fixture
def topic(barnabas_broker: Broker) -> Iterator[str]:
    name = f"records-{os.urandom(4).hex()}"
    yield name
    barnabas_broker.delete_topics({name} & barnabas_broker.topics())


def _barnabas(broker: Broker, command: str, *arguments: str, stdin: str = "") -> Ran:
    return run_inside("barnabas", command, "-b", broker.bootstrap_servers, *arguments, stdin=stdin)


def _json(ran: Ran) -> list[dict[str, object]]:
    assert ran.code == 0
    return [json.loads(line) for line in ran.lines]


def test_lines_go_in_and_come_out(barnabas_broker: Broker, topic: str) -> None:
    sent = _barnabas(barnabas_broker, "produce", topic, stdin="one\ntwo\n")
    assert (sent.stdout, sent.code) == ("", 0)
    assert sent.stderr.startswith(f"Sent 2 records to {topic} in ")
    assert _barnabas(barnabas_broker, "consume", topic).stdout == "one\ntwo\n"
    assert _barnabas(barnabas_broker, "consume", topic, "-n", "1").stdout == "one\n"
    assert _barnabas(barnabas_broker, "consume", topic, "--from", "1").stdout == "two\n"
    assert _barnabas(barnabas_broker, "consume", topic, "--from", "99").stdout == ""
    assert _barnabas(barnabas_broker, "consume", topic, "--from", "-1h", "--grep", "^t").stdout == "two\n"
    assert _barnabas(barnabas_broker, "consume", topic, "--from", "end").stdout == ""


def test_options_complete_records(barnabas_broker: Broker, topic: str, tmp_path: Path) -> None:
    barnabas_broker.create_topic(topic, partitions=2)
    path = tmp_path / "lines"
    path.write_text("a:1\n2\n")
    options = (
        "--file",
        str(path),
        "-s",
        ":",
        "-k",
        "fixed",
        "-H",
        "h=x=y",
        "-p",
        "1",
        "--compression",
        "lz4",
    )
    sent = _barnabas(barnabas_broker, "produce", topic, *options, "--json")
    assert [(each["sent"], each["failed"]) for each in _json(sent)] == [(2, 0)]
    found = _json(_barnabas(barnabas_broker, "consume", topic, "--json"))
    assert [(each["key"], each["value"], each["partition"], each["headers"]) for each in found] == [
        ("a", "1", 1, [{"key": "h", "value": "x=y"}]),
        ("fixed", "2", 1, [{"key": "h", "value": "x=y"}]),
    ]
    assert _barnabas(barnabas_broker, "consume", topic, "-p", "0").stdout == ""


def test_json_lines_copy_a_topic(barnabas_broker: Broker, topic: str) -> None:
    lines = [
        '{"key": "k", "value": {"base64": "//4="}, "headers": {"h": null}, "timestamp": 1600000000000}',
        '{"value": null}',
    ]
    assert _barnabas(barnabas_broker, "produce", topic, "--json-lines", stdin="\n".join(lines)).code == 0
    first = _barnabas(barnabas_broker, "consume", topic, "--json")
    assert _json(first)[0]["value"] == {"base64": "//4="}
    assert _barnabas(barnabas_broker, "produce", topic, "--json-lines", stdin=first.stdout).code == 0
    again = _json(_barnabas(barnabas_broker, "consume", topic, "--json"))
    for before, after in zip(again[:2], again[2:], strict=True):
        assert {**before, "offset": 0} == {**after, "offset": 0}


def test_a_bad_line_is_named_and_those_before_it_are_sent(barnabas_broker: Broker, topic: str) -> None:
    ran = _barnabas(barnabas_broker, "produce", topic, "--json-lines", stdin='{"value": 1}\n{"vlaue": 2}\n')
    assert ran.code == 1
    sent, problem = ran.stderr.splitlines()
    assert sent.startswith("Sent 1 record to ")
    assert problem.startswith("barnabas: line 2: unknown field vlaue")


def test_a_group_goes_on_where_it_was(barnabas_broker: Broker, topic: str) -> None:
    _barnabas(barnabas_broker, "produce", topic, stdin="a\nb\nc\n")
    assert _barnabas(barnabas_broker, "consume", topic, "-g", topic, "-n", "2").stdout == "a\nb\n"
    assert _barnabas(barnabas_broker, "consume", topic, "-g", topic).stdout == "c\n"


def test_all_is_read_to_the_end_that_was_there(barnabas_broker: Broker, topic: str) -> None:
    text = "".join(f"{number}\n" for number in range(30_000))
    _barnabas(barnabas_broker, "produce", topic, stdin=text)
    assert _barnabas(barnabas_broker, "consume", topic).stdout == text


def test_following_shows_what_comes(barnabas_broker: Broker, topic: str) -> None:
    _barnabas(barnabas_broker, "produce", topic, stdin="old\n")
    arguments = ("consume", "-b", barnabas_broker.bootstrap_servers, topic, "--follow", "--from", "beginning")
    with start("barnabas", *arguments) as running:
        assert running.wait_for_line() == "old"
        _barnabas(barnabas_broker, "produce", topic, stdin="new\n")
        assert running.wait_for_line() == "new"
        ran = running.interrupt(signal_number=signal.SIGINT)
    assert (ran.code, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["consume", "nowhere-at-all"], "barnabas: Topic nowhere-at-all does not exist"),
        (["consume", "t", "--from", "soon"], "barnabas: --from: 'soon' is not a valid start"),
        (["consume", "t", "--format", "{x}"], "barnabas: --format: unknown field {x}"),
        (["consume", "t", "--grep", "("], "barnabas: '(' is not a regular expression"),
        (["consume", "t", "-g", "g", "-p", "1"], "barnabas: --group and --partition cannot be used together"),
        (["consume", "t", "-b", "127.0.0.1:1"], "barnabas: No broker answers (127.0.0.1:1"),
        (
            ["produce", "no such"],
            "barnabas: no such: The request attempted to perform an operation on an invalid topic.",
        ),
        (["produce", "t", "-H", "x"], "barnabas: --header x: expected NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_one_line(barnabas_broker: Broker, words: list[str], message: str) -> None:
    where = [] if "-b" in words else ["-b", barnabas_broker.bootstrap_servers]
    ran = run_inside("barnabas", *words, *where, stdin="x\n")
    assert ran.code != 0
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith(message)
