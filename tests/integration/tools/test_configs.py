"""kafka-configs and `barnabas config` with our broker; what they share with Apache Kafka is in scenarios."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.processes import BrokerProcess
from tests.integration.tools.programs import Ran, run_inside
from tests.integration.tools.waiting import until

from barnabas.cli.main import barnabas
from barnabas.testing import Broker


@pytest.fixture
def topic(barnabas_broker: Broker) -> Iterator[str]:
    name = "configured"
    barnabas_broker.create_topic(name)
    yield name
    barnabas_broker.delete_topic(name)


def _kafka_configs(broker: Broker | BrokerProcess, *words: str) -> Ran:
    return run_inside("kafka-configs", "--bootstrap-server", broker.bootstrap_servers, *words)


def _config(broker: Broker | BrokerProcess, verb: str, *words: str) -> Ran:
    return run_inside("barnabas", "config", verb, "-b", broker.bootstrap_servers, *words)


# --- kafka-configs ----------------------------------------------------------------------------------


def test_a_file_of_settings_is_read(barnabas_broker: Broker, topic: str, tmp_path: Path) -> None:
    (tmp_path / "more").write_text("retention.ms=1000\n")
    ran = _kafka_configs(
        barnabas_broker, "--alter", "--topic", topic, "--add-config-file", f"{tmp_path}/more"
    )
    assert ran == Ran(f"Completed updating config for topic {topic}.\n", "", 0)
    described = _kafka_configs(barnabas_broker, "--describe", "--topic", topic)
    assert "  retention.ms=1000 sensitive=false synonyms=" in described.stdout


def test_nothing_changes_when_one_setting_is_wrong(barnabas_broker: Broker, topic: str) -> None:
    words = ("--alter", "--topic", topic, "--add-config", "retention.ms=5,no.such=1")
    ran = _kafka_configs(barnabas_broker, *words)
    arguments = " ".join(("--bootstrap-server", barnabas_broker.bootstrap_servers, *words))
    assert ran == Ran(
        "",
        f"Error while executing config command with args '{arguments}': Unknown topic config name: no.such\n",
        1,
    )
    described = _kafka_configs(barnabas_broker, "--describe", "--topic", topic)
    assert described.stdout == f"Dynamic configs for topic {topic} are:\n"


@pytest.mark.parametrize(
    ("words", "api"),
    [
        (["--alter", "--client", "c", "--add-config", "producer_byte_rate=1"], "ALTER_CLIENT_QUOTAS"),
        (
            ["--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=[password=x]"],
            "ALTER_USER_SCRAM_CREDENTIALS",
        ),
    ],
)
def test_unsupported_api_is_reported(barnabas_broker: Broker, words: list[str], api: str) -> None:
    assert _kafka_configs(barnabas_broker, *words) == Ran("", f"The broker does not support {api}\n", 1)


def test_a_group_may_have_settings_before_it_has_members(barnabas_broker: Broker) -> None:
    group = f"group-{uuid.uuid4().hex[:8]}"
    missing = _kafka_configs(barnabas_broker, "--describe", "--group", group)
    message = f"The group '{group}' doesn't exist and doesn't have dynamic config.\n"
    assert missing == Ran(message, "", 0)
    setting = "consumer.session.timeout.ms=50000"
    assert _kafka_configs(barnabas_broker, "--alter", "--group", group, "--add-config", setting).code == 0
    described = _kafka_configs(barnabas_broker, "--describe", "--group", group)
    assert described.lines[0] == f"Dynamic configs for group {group} are:"
    assert described.lines[1].lstrip().startswith(setting)
    assert group in _kafka_configs(barnabas_broker, "--describe", "--entity-type", "groups").stdout


@pytest.mark.parametrize("words", [["--user", "u"], ["--entity-type", "clients"], ["--entity-type", "users"]])
def test_there_are_no_quotas_and_credentials(barnabas_broker: Broker, words: list[str]) -> None:
    assert _kafka_configs(barnabas_broker, "--describe", *words) == Ran("", "", 0)


def test_a_broker_that_is_no_member_is_named(barnabas_broker: Broker) -> None:
    words = ("--alter", "--broker", "7", "--add-config", "log.cleaner.threads=2")
    ran = _kafka_configs(barnabas_broker, *words)
    assert ran.code == 1
    assert ran.stderr.endswith("': The cluster has no broker 7 (it has 1)\n")


def test_unreachable_broker_is_reported_in_one_line() -> None:
    ran = run_inside("kafka-configs", "--bootstrap-server", "127.0.0.1:1", "--describe", "--topic", "t")
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1
    assert "No broker answers (127.0.0.1:1: connection refused)" in ran.stderr


def test_options_of_other_generations_are_answered(barnabas_broker: Broker, topic: str) -> None:
    old = run_inside("kafka-configs", "--zookeeper", "127.0.0.1:1", "--describe", "--topic", topic)
    assert (old.code, old.stdout) == (1, "")
    assert "use --bootstrap-server" in old.stderr
    controller = run_inside("kafka-configs", "--bootstrap-controller", "a:1", "--describe", "--topic", topic)
    assert (controller.code, controller.stdout) == (1, "")
    assert "give --bootstrap-server" in controller.stderr
    forced = _kafka_configs(barnabas_broker, "--force", "--describe", "--topic", topic)
    assert forced.code == 0


def test_a_missing_file_is_reported_in_one_line(barnabas_broker: Broker) -> None:
    for option in (["--command-config", "/no/such"], ["--add-config-file", "/no/such"]):
        ran = _kafka_configs(barnabas_broker, "--alter", "--topic", "t", "--delete-config", "a", *option)
        assert ran.code == 1
        assert ran.stderr.endswith("/no/such: No such file or directory\n")


# --- barnabas config --------------------------------------------------------------------------------


def test_barnabas_sets_lists_gets_and_unsets(barnabas_broker: Broker, topic: str) -> None:
    nothing = _config(barnabas_broker, "list", "topic", topic)
    assert nothing == Ran("", f"Nothing is set for topic {topic}.\n", 0)
    pairs = ("retention.ms=3600000", "cleanup.policy=compact,delete")
    done = _config(barnabas_broker, "set", "topic", topic, *pairs)
    assert done == Ran(f"Set retention.ms, cleanup.policy for topic {topic}.\n", "", 0)
    assert _config(barnabas_broker, "list", "topic", topic).lines == [
        "NAME            VALUE           SOURCE",
        "cleanup.policy  compact,delete  topic",
        "retention.ms    3600000         topic",
    ]
    assert _config(barnabas_broker, "get", "topic", topic, "retention.ms").stdout == "3600000\n"
    done = _config(barnabas_broker, "unset", "topic", topic, "retention.ms", "--json")
    assert json.loads(done.stdout) == {"kind": "topic", "name": topic, "unset": ["retention.ms"]}
    listed = _config(barnabas_broker, "list", "topic", topic, "--json")
    assert json.loads(listed.stdout) == [
        {"name": "cleanup.policy", "value": "compact,delete", "source": "topic"}
    ]


def test_barnabas_shows_where_a_value_comes_from(barnabas_broker: Broker, topic: str) -> None:
    everything = json.loads(_config(barnabas_broker, "list", "topic", topic, "--all", "--json").stdout)
    sources = {each["name"]: each["source"] for each in everything}
    assert sources["segment.bytes"] == "default"
    assert sources["file.delete.delay.ms"] == "server.properties"
    keys = ("segment.bytes", "retention.bytes")
    both = _config(barnabas_broker, "get", "topic", topic, *keys).lines
    assert both[1:] == ["segment.bytes    1073741824  default", "retention.bytes  -1          default"]


def test_barnabas_lists_all_topics_with_settings(barnabas_broker: Broker, topic: str) -> None:
    _config(barnabas_broker, "set", "topic", topic, "retention.ms=5")
    rows = [line.split() for line in _config(barnabas_broker, "list", "topic").lines]
    assert [topic, "retention.ms", "5", "topic"] in rows


def test_barnabas_knows_a_broker_and_all_brokers(barnabas_broker: Broker) -> None:
    assert _config(barnabas_broker, "set", "broker", "1", "log.cleaner.threads=2").code == 0
    assert _config(barnabas_broker, "set", "broker", "default", "log.retention.ms=100000").code == 0
    listed = json.loads(_config(barnabas_broker, "list", "broker", "1", "--json").stdout)
    sources = {each["name"]: each["source"] for each in listed}
    assert sources["log.cleaner.threads"] == "broker"
    assert sources["log.retention.ms"] == "all brokers"
    assert sources["node.id"] == "server.properties"
    assert _config(barnabas_broker, "unset", "broker", "1", "log.cleaner.threads").code == 0
    assert _config(barnabas_broker, "unset", "broker", "default", "log.retention.ms").code == 0
    assert _config(barnabas_broker, "list", "broker", "default").stdout == ""


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["list", "topic", "no-such-topic"], 1, "Topic no-such-topic does not exist"),
        (["set", "topic", "no-such-topic", "retention.ms=1"], 1, "no-such-topic"),
        (["get", "broker", "1", "no.such"], 1, "broker 1 has no no.such"),
        (["set", "broker", "1", "no-equals-sign"], 2, "'no-equals-sign' is not KEY=VALUE"),
        (["list", "broker", "one"], 1, "'one' is not a broker id"),
        (["list", "planet", "earth"], 2, "'planet' is not one of"),
        (["list", "topic", "t", "--client", "c"], 2, "--client is for users"),
        (
            ["set", "user", "alice", "producer_byte_rate=1"],
            1,
            "The broker does not support ALTER_CLIENT_QUOTAS",
        ),
        (
            ["set", "user", "alice", "producer_byte_rate=much"],
            1,
            "producer_byte_rate=much: expected a number",
        ),
        (["set", "client", "app", "SCRAM-SHA-256=password=x"], 1, "client app cannot have credentials"),
        (["set", "user", "default", "SCRAM-SHA-256=password=x"], 1, "user default cannot have credentials"),
        (
            ["set", "user", "a", "SCRAM-SHA-256=password=x", "producer_byte_rate=1"],
            1,
            "use one command for each",
        ),
    ],
)
def test_barnabas_says_what_is_wrong_in_one_line(
    barnabas_broker: Broker, words: list[str], code: int, problem: str
) -> None:
    ran = _config(barnabas_broker, *words)
    assert (ran.code, ran.stdout) == (code, "")
    assert problem in ran.stderr
    assert ran.stderr.startswith("barnabas: ")
    assert ran.stderr.count("\n") == 1


def test_a_wrong_password_is_not_repeated(barnabas_broker: Broker) -> None:
    ran = _config(barnabas_broker, "set", "user", "alice", "SCRAM-SHA-256=my-secret")
    assert ran.code == 1
    assert "my-secret" not in ran.stderr
    assert "expected iterations=N,password=SECRET" in ran.stderr


def test_names_and_keys_are_completed(barnabas_broker: Broker, topic: str) -> None:
    from click.shell_completion import ShellComplete

    complete = ShellComplete(barnabas, {}, "barnabas", "_BARNABAS_COMPLETE")

    def completions(*words: str, incomplete: str) -> list[str]:
        server = ["-b", barnabas_broker.bootstrap_servers]
        return [
            item.value
            for item in complete.get_completions(["config", *words[:1], *server, *words[1:]], incomplete)
        ]

    assert completions("list", "topic", incomplete="confi") == [topic]
    assert completions("list", "broker", incomplete="") == ["1"]
    assert completions("set", "topic", topic, incomplete="retention") == ["retention.bytes", "retention.ms"]
    assert completions("list", incomplete="cl") == ["client-metrics", "client"]


# --- both, on Apache Kafka, which serves more -------------------------------------------------------


def test_barnabas_keeps_quotas_and_credentials(apache_broker: BrokerProcess) -> None:
    def listed(*words: str, holds: str) -> Ran:
        return until(
            lambda: _config(apache_broker, "list", "user", "dave", *words),
            lambda ran: holds in ran.stdout + ran.stderr,
        )

    assert _config(apache_broker, "set", "user", "dave", "producer_byte_rate=2e7").code == 0
    secret = "SCRAM-SHA-512=iterations=8192,password=x"
    assert _config(apache_broker, "set", "user", "dave", secret).code == 0
    assert (
        _config(apache_broker, "set", "user", "dave", "--client", "app", "request_percentage=0.5").code == 0
    )
    assert listed(holds="SCRAM").lines == [
        "NAME                VALUE            SOURCE",
        "producer_byte_rate  20000000         quota",
        "SCRAM-SHA-512       iterations=8192  credential",
    ]
    of_client = listed("--client", "app", "--json", holds="request")
    assert json.loads(of_client.stdout) == [{"name": "request_percentage", "value": "0.5", "source": "quota"}]
    assert _config(apache_broker, "unset", "user", "dave", "SCRAM-SHA-512").code == 0
    assert _config(apache_broker, "unset", "user", "dave", "--client", "app", "request_percentage").code == 0
    assert _config(apache_broker, "unset", "user", "dave", "producer_byte_rate").code == 0
    assert listed(holds="Nothing") == Ran("", "Nothing is set for user dave.\n", 0)
