"""kafka-producer-perf-test, kafka-consumer-perf-test and `barnabas perf` against our broker."""

import json
import re
from pathlib import Path

import pytest
from tests.integration.tools.programs import Ran, run_inside

from barnabas.testing import Broker

_WINDOW = (
    r"\d+ records sent, [\d.]+ records/sec \([\d.]+ MB/sec\), [\d.]+ ms avg latency, [\d.]+ ms max latency\."
)
_TOTAL = (
    r"{count}( steady state)? records sent, [\d.]+ records/sec \([\d.]+ MB/sec\), [\d.]+ ms avg latency, "
    r"[\d.]+ ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\."
)
_NUMBER = r"\d+\.\d{4}"
_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"


@pytest.fixture
def topic(barnabas_broker: Broker, request: pytest.FixtureRequest) -> str:
    name = re.sub(r"[^a-z]+", "-", request.node.name)
    barnabas_broker.create_topic(name, partitions=2)
    return name


def _produce(broker: Broker, topic: str, *more: str, records: int = 500, rate: str = "-1") -> Ran:
    words = ["--topic", topic, "--num-records", str(records), "--throughput", rate, *more]
    return run_inside("kafka-producer-perf-test", "--bootstrap-server", broker.bootstrap_servers, *words)


def _consume(broker: Broker, topic: str, *more: str) -> Ran:
    words = ["--bootstrap-server", broker.bootstrap_servers, "--topic", topic, *more]
    return run_inside("kafka-consumer-perf-test", *words)


def test_all_records_are_sent_and_read(barnabas_broker: Broker, topic: str) -> None:
    sent = _produce(barnabas_broker, topic, "--record-size", "100")
    assert sent.code == 0, sent
    *windows, total = sent.lines  # a line every five seconds, where it takes that long
    assert all(re.fullmatch(_WINDOW, line) for line in windows)
    assert re.fullmatch(_TOTAL.format(count=500), total)
    read = _consume(barnabas_broker, topic, "--num-records", "500")
    assert read.code == 0, read
    header, line = read.lines
    assert header == (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
        "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )
    columns = line.split(", ")
    assert re.fullmatch(_TIME, columns[0])
    assert float(columns[2]) == pytest.approx(500 * 100 / 1024 / 1024, abs=0.0001)
    assert columns[4] == "500"
    assert len(columns) == 10


def test_rate_windows_and_steady_state_are_reported(barnabas_broker: Broker, topic: str) -> None:
    # A window of a millisecond: a busy machine may send all records after the warm-up at once.
    more = ["--record-size", "10", "--reporting-interval", "1", "--warmup-records", "100"]
    sent = _produce(barnabas_broker, topic, *more, "--producer-props", "linger.ms=0", "acks=1", rate="1000")
    renamed, first, *windows, total, steady = sent.lines
    assert renamed.startswith("Option --producer-props has been deprecated")
    assert first.startswith("Warmup first 100 records.")
    assert sum(re.fullmatch(_WINDOW, line) is not None for line in windows) >= 1
    assert re.fullmatch(_TOTAL.format(count=500), total)
    assert re.fullmatch(_TOTAL.format(count=r"\d+"), steady)
    assert "steady state" in steady
    rate = float(total.split(", ")[1].split()[0])
    assert rate <= 1100  # how far below it depends on what else the machine does


def test_payloads_come_from_a_file(barnabas_broker: Broker, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "payloads"
    path.write_text("a\nbb\n")
    sent = _produce(barnabas_broker, topic, "--payload-file", str(path), records=10)
    assert sent.lines[:2] == [f"Reading payloads from: {path}", "Number of records read: 2"]


def test_consumer_that_finds_too_little_says_so(barnabas_broker: Broker, topic: str) -> None:
    _produce(barnabas_broker, topic, "--payload-monotonic", records=20)
    read = _consume(
        barnabas_broker, topic, "--messages", "30", "--timeout", "4000", "--show-detailed-stats",
        "--reporting-interval", "100", "--hide-header", "--date-format", "HH:mm",
    )  # fmt: skip
    assert read.code == 0
    assert read.lines[0] == "Warning: --messages is deprecated. Use --num-records instead."
    warning = "WARNING: Exiting before consuming the expected number of records: timeout (4000 ms)"
    assert warning in read.stdout
    windows = [line for line in read.lines if re.match(r"\d\d:\d\d, 0, ", line)]
    assert windows[-1].split(", ")[4] == "20"


def test_metrics_of_the_client_are_printed(barnabas_broker: Broker, topic: str) -> None:
    sent = _produce(barnabas_broker, topic, "--payload-monotonic", "--print-metrics", records=20)
    assert re.search(r"\n\nMetric Name +Value\n", sent.stdout)
    assert re.search(
        r"^producer-metrics:txmsgs:\{client-id=perf-producer-client\} +: 20$", sent.stdout, re.MULTILINE
    )
    read = _consume(barnabas_broker, topic, "--num-records", "21", "--timeout", "4000", "--print-metrics")
    assert re.search(
        r"^consumer-metrics:rxmsgs:\{client-id=perf-consumer-client\} +: 20$", read.stdout, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--topic", "t"], "argument --num-records is required"),
        (["--topic", "t", "--num-records", "x"], "Cannot parse argument 'x' of option num-records"),
        (
            ["--topic", "t", "--num-records", "1", "--throughput", "1"],
            "one of the arguments --record-size --payload-file --payload-monotonic is required",
        ),
        (
            ["--topic", "t", "--num-records", "0", "--throughput", "1", "--record-size", "1"],
            "--num-records should be greater than zero.",
        ),
        (
            ["--topic", "t", "--num-records", "1", "--throughput", "1", "--record-size", "1"],
            "At least one of --bootstrap-server",
        ),
    ],
)
def test_bad_arguments_are_one_line(words: list[str], message: str) -> None:
    ran = run_inside("kafka-producer-perf-test", *words)
    assert ran.code == 1
    assert ran.stderr.startswith(message)
    assert len(ran.stderr.splitlines()) == 2


def test_every_record_comes_back(barnabas_broker: Broker, topic: str) -> None:
    words = [barnabas_broker.bootstrap_servers, topic, "30", "all", "100"]
    ran = run_inside("kafka-e2e-latency", *words)
    assert ran.code == 0, ran
    warning, first, mean, percentiles = ran.lines
    assert warning.startswith("WARNING: Positional argument usage is deprecated")
    assert re.fullmatch(r"0\t[\d.]+", first)
    assert re.fullmatch(r"Avg latency: \d+\.\d{4} ms", mean)
    assert re.fullmatch(r"Percentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+", percentiles)


def test_keys_and_headers_come_back_too(barnabas_broker: Broker, topic: str) -> None:
    words = ["--topic", topic, "--num-records", "3", "--producer-acks", "1", "--record-size", "10"]
    more = ["--record-key-size", "4", "--num-headers", "2", "--record-header-key-size", "3"]
    where = ["--bootstrap-server", barnabas_broker.bootstrap_servers]
    assert run_inside("kafka-e2e-latency", *where, *words, *more, "--record-header-size", "-1").code == 0
    assert run_inside("kafka-e2e-latency", *where, *words, *more, "--record-header-size", "5").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "b"], "Invalid number of arguments. Expected 5 or 6 positional arguments, but got 2."),
        (["--topic", "t"], 'Missing required argument "[bootstrap-server]"'),
        (["localhost:9092", "t", "1", "0", "1"], "Invalid value for --producer-acks."),
        (["localhost:9092", "t", "0", "1", "1"], "Value for --num-records must be a positive integer."),
        (["localhost:9092", "t", "1", "1", "-1"], "Value for --record-size must be a non-negative integer."),
    ],
)
def test_bad_arguments_of_the_latency_tool_are_reported(words: list[str], message: str) -> None:
    ran = run_inside("kafka-e2e-latency", *words)
    assert ran.code == 1
    assert ran.stderr.startswith(message)


@pytest.mark.parametrize("program", ["kafka-producer-perf-test", "kafka-consumer-perf-test"])
def test_unreachable_broker_is_reported(program: str) -> None:
    words = ["--bootstrap-server", "127.0.0.1:1", "--topic", "t", "--num-records", "1"]
    if "producer" in program:
        words += ["--record-size", "1", "--throughput", "-1"]
    ran = run_inside(program, *words)
    assert ran.code == 1
    assert ran.stderr == "No broker answers (127.0.0.1:1: connection refused). Is it running?\n"


def test_barnabas_measures_both(barnabas_broker: Broker, topic: str) -> None:
    where = ["-b", barnabas_broker.bootstrap_servers, "--json"]
    sent = json.loads(
        run_inside("barnabas", "perf", "produce", topic, "-n", "300", "-s", "50", *where).stdout
    )
    assert sent[0]["records"] == 300
    assert sent[0]["failed"] == 0
    read = json.loads(run_inside("barnabas", "perf", "consume", topic, "-n", "300", *where).stdout)
    assert read[0]["records"] == 300


def test_barnabas_leaves_no_group_behind(barnabas_broker: Broker, topic: str) -> None:
    where = ["-b", barnabas_broker.bootstrap_servers]
    few = run_inside("barnabas", "perf", "consume", topic, "-n", "1", "--timeout", "0.5", *where)
    assert few.stderr == "Ended early: no record came for 0.5 s (--timeout)\n"
    assert "barnabas-perf-" not in run_inside("barnabas", "group", "list", *where).stdout


def test_barnabas_measures_no_topic_that_is_not_there(barnabas_broker: Broker) -> None:
    ran = run_inside("barnabas", "perf", "consume", "no-such-topic", "-b", barnabas_broker.bootstrap_servers)
    assert (ran.stdout, ran.stderr, ran.code) == ("", "barnabas: Topic no-such-topic does not exist\n", 1)
    there = run_inside("kafka-topics", "--list", "--bootstrap-server", barnabas_broker.bootstrap_servers)
    assert "no-such-topic" not in there.lines
