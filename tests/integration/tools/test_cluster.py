"""kafka-cluster and `barnabas cluster info` against our broker."""

import json

import pytest
from tests.integration.tools.programs import run_inside

from barnabas.testing import Broker


def test_cluster_id_is_the_same_for_both_doors(barnabas_broker: Broker) -> None:
    server = barnabas_broker.bootstrap_servers
    (line,) = run_inside("kafka-cluster", "cluster-id", "-b", server).lines
    found = json.loads(run_inside("barnabas", "cluster", "info", "-b", server, "--json").stdout)
    assert line == f"Cluster ID: {found['cluster_id']}"
    assert found["controller"] == 1
    (broker,) = found["brokers"]
    assert (broker["broker"], broker["port"], broker["controller"]) == (1, barnabas_broker.port, True)
    assert broker["apis"] > 25


def test_info_is_a_line_and_a_table(barnabas_broker: Broker) -> None:
    ran = run_inside("barnabas", "cluster", "info", "-b", barnabas_broker.bootstrap_servers)
    cluster, head, broker = ran.lines
    assert cluster.startswith("Cluster ")
    assert head.split() == ["BROKER", "HOST", "PORT", "RACK", "CONTROLLER", "APIS", "METADATA"]
    assert broker.split()[:5] == ["1", "127.0.0.1", str(barnabas_broker.port), "-", "yes"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-b", "x:1"], "too few arguments"),
        (
            ["id", "-b", "x:1"],
            "invalid choice: 'id' (choose from 'cluster-id', 'unregister', 'list-endpoints')",
        ),
        (["cluster-id"], "one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required"),
        (
            ["cluster-id", "-b", "x:1", "-C", "x:1"],
            "argument --bootstrap-controller/-C: not allowed with argument --bootstrap-server/-b",
        ),
        (["unregister", "-b", "x:1"], "argument --id/-i is required"),
        (["cluster-id", "-b", "x:1", "--id", "1"], "unrecognized arguments: '--id'"),
        (["cluster-id", "more", "-b", "x:1"], "unrecognized arguments: 'more'"),
        (
            ["cluster-id", "-b", "x:1", "--config", "a", "-c", "b"],
            "--config and --command-config cannot be specified together.",
        ),
    ],
)
def test_wrong_arguments_have_the_errors_of_kafkas_parser(words: list[str], message: str) -> None:
    ran = run_inside("kafka-cluster", *words)
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.splitlines() == [f"kafka-cluster: error: {message}", "Try 'kafka-cluster --help'."]


def test_brokers_are_no_controllers(barnabas_broker: Broker) -> None:
    ran = run_inside("kafka-cluster", "list-endpoints", "-C", barnabas_broker.bootstrap_servers)
    assert ran.code == 1
    assert ran.stderr.startswith("org.apache.kafka.common.errors.MismatchedEndpointTypeException: ")
    assert len(ran.stderr.splitlines()) == 1


def test_broker_that_is_away_is_one_line() -> None:
    ran = run_inside("kafka-cluster", "cluster-id", "-b", "127.0.0.1:1")
    assert ran.code == 1
    assert ran.stderr == "No broker answers (127.0.0.1:1: connection refused). Is it running?\n"
