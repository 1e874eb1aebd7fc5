"""kafka-acls and `barnabas acl`, most of it on Apache Kafka with an authorizer: our broker serves no ACLs."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from benchmarks.processes import BrokerProcess
from tests.integration.tools.apache_tools import ApacheTools
from tests.integration.tools.parity import OurTools, Setup, TheirTools, check_parity
from tests.integration.tools.programs import Ran, run_inside
from tests.integration.tools.scenario import Scenario, Way
from tests.integration.tools.scenarios.acls import GUARDED
from tests.integration.tools.waiting import until

from barnabas.testing import Broker


@pytest.fixture
def guarded_broker(other_apache_broker: BrokerProcess) -> BrokerProcess:
    return other_apache_broker


@pytest.fixture
def guarded_setups(guarded_broker: BrokerProcess, apache_tools: ApacheTools) -> Mapping[Way, Setup]:
    return {
        Way.THEIRS_AT_APACHE: Setup(TheirTools(apache_tools), guarded_broker),
        Way.OURS_AT_APACHE: Setup(OurTools(), guarded_broker),
    }


def _kafka_acls(broker: BrokerProcess | Broker, *words: str, stdin: str = "") -> Ran:
    return run_inside("kafka-acls", "--bootstrap-server", broker.bootstrap_servers, *words, stdin=stdin)


def _barnabas_acl(broker: BrokerProcess | Broker, verb: str, *words: str) -> Ran:
    return run_inside("barnabas", "acl", verb, "-b", broker.bootstrap_servers, *words)


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.slug) for each in GUARDED])
def test_tool_prints_what_apache_kafkas_prints(
    scenario: Scenario, guarded_setups: Mapping[Way, Setup], tmp_path: Path
) -> None:
    check_parity(scenario, guarded_setups, tmp_path)


def test_removal_is_confirmed(guarded_broker: BrokerProcess) -> None:
    topic = ("--topic", "confirmed")

    def listed(part: str) -> Ran:
        return until(lambda: _kafka_acls(guarded_broker, "--list", *topic), lambda ran: part in ran.stdout)

    assert _kafka_acls(guarded_broker, "--add", *topic, "--allow-principal", "User:a").code == 0
    listed("User:a")
    refused = _kafka_acls(guarded_broker, "--remove", *topic, stdin="n\n")
    question = (
        "Are you sure you want to delete all ACLs for resource filter "
        "`ResourcePattern(resourceType=TOPIC, name=confirmed, patternType=LITERAL)`? (y/n)\n"
    )
    assert refused == Ran(question, "", 0)
    unanswered = _kafka_acls(guarded_broker, "--remove", *topic)
    assert unanswered.code == 1
    assert unanswered.stdout.startswith(question + "Error while executing ACL command: ")
    assert "User:a" in listed("User:a").stdout
    one = ("--allow-principal", "User:a", "--operation", "All")
    confirmed = _kafka_acls(guarded_broker, "--remove", *topic, *one, stdin="Y\n")
    assert confirmed == Ran(
        "Are you sure you want to remove ACLs: \n"
        " \t(principal=User:a, host=*, operation=ALL, permissionType=ALLOW)\n"
        " from resource filter `ResourcePattern(resourceType=TOPIC, name=confirmed, patternType=LITERAL)`? "
        "(y/n)\n",
        "",
        0,
    )
    assert (
        until(lambda: _kafka_acls(guarded_broker, "--list", *topic), lambda ran: not ran.stdout).stdout == ""
    )


def test_operation_that_means_nothing_is_refused(guarded_broker: BrokerProcess) -> None:
    ran = _kafka_acls(
        guarded_broker, "--add", "--cluster", "--allow-principal", "User:a", "--operation", "Read"
    )
    assert ran.code == 1
    assert ran.stderr.splitlines()[0] == (
        "ResourceType CLUSTER only supports operations [ALL, CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, "
        "DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE]"
    )


def test_barnabas_adds_lists_and_removes(guarded_broker: BrokerProcess) -> None:
    added = _barnabas_acl(
        guarded_broker, "add", "carol", "--consumer", "--topic", "front", "--group", "front-g"
    )
    assert added.lines[0] == "Added 3 rules."
    words = ("list", "--topic", "front", "--principal", "carol")
    listed = until(
        lambda: _barnabas_acl(guarded_broker, *words, "--json"),
        lambda ran: ran.stdout.count("operation") == 2,
    )
    rule = {"principal": "User:carol", "permission": "allow", "resource": "topic", "name": "front"}
    assert json.loads(listed.stdout) == [
        {**rule, "operation": operation, "pattern": "literal", "host": "*"}
        for operation in ("read", "describe")
    ]
    unsure = _barnabas_acl(guarded_broker, "remove", "carol", "--topic", "front")
    assert (unsure.code, unsure.stdout) == (2, "")
    removed = _barnabas_acl(guarded_broker, "remove", "carol", "read", "--topic", "front", "--yes", "--json")
    assert [each["operation"] for each in json.loads(removed.stdout)] == ["read"]
    left = until(lambda: _barnabas_acl(guarded_broker, *words), lambda ran: len(ran.lines) == 2)
    assert left.lines[0].split()[:4] == ["PRINCIPAL", "ACCESS", "OPERATION", "RESOURCE"]
    assert [line.split()[:3] for line in left.lines[1:]] == [["User:carol", "allow", "describe"]]
    missing = _barnabas_acl(guarded_broker, "remove", "nobody", "--topic", "front", "--yes")
    assert (missing.code, missing.stderr) == (1, "barnabas: User:nobody has no such rules\n")


def test_barnabas_denies_by_prefix(guarded_broker: BrokerProcess) -> None:
    words = ("mallory", "write", "--topic", "secret-", "--prefixed", "--deny", "--host", "10.0.0.1")
    assert _barnabas_acl(guarded_broker, "add", *words).code == 0
    requested = ("list", "--topic", "secret-plans", "--json")
    listed = until(lambda: _barnabas_acl(guarded_broker, *requested), lambda ran: "mallory" in ran.stdout)
    (rule,) = json.loads(listed.stdout)
    assert (rule["permission"], rule["pattern"], rule["host"]) == ("deny", "prefixed", "10.0.0.1")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["bob", "read"], "Name a resource: "),
        (["bob", "--topic", "t"], "Name an operation"),
        (["bob", "read", "--cluster"], "ResourceType CLUSTER only supports operations "),
        (["bob", "fly", "--topic", "t"], "Invalid value for '[OPERATION]...': 'fly'"),
    ],
)
def test_barnabas_says_what_is_missing(barnabas_broker: Broker, words: list[str], problem: str) -> None:
    ran = _barnabas_acl(barnabas_broker, "add", *words)
    assert ran.code == 2
    assert ran.stderr.startswith(f"barnabas: {problem}")
    assert len(ran.stderr.splitlines()) == 1


def test_a_broker_without_acls_is_reported_in_one_line(barnabas_broker: Broker) -> None:
    ran = _kafka_acls(barnabas_broker, "--list")
    assert ran == Ran(
        "Error while executing ACL command: org.apache.kafka.common.errors.SecurityDisabledException: "
        "No Authorizer is configured on the broker\n",
        "",
        1,
    )
    ran = _barnabas_acl(barnabas_broker, "list")
    assert ran == Ran("", "barnabas: No Authorizer is configured on the broker\n", 1)
    ran = _barnabas_acl(barnabas_broker, "add", "bob", "read", "--topic", "t")
    assert ran == Ran("", "barnabas: No Authorizer is configured.\n", 1)


def test_unreachable_broker_is_reported_in_one_line() -> None:
    ran = run_inside("kafka-acls", "--bootstrap-server", "127.0.0.1:1", "--list")
    assert ran.code == 1
    assert ran.stdout.startswith("Error while executing ACL command: No broker answers (127.0.0.1:1: ")
    assert len(ran.lines) == 1
