"""kafka-features and `barnabas cluster features` against our broker."""

import json

import pytest
from tests.integration.tools.programs import run_inside

from barnabas.testing import Broker


def test_features_are_the_same_for_both_doors(barnabas_broker: Broker) -> None:
    server = barnabas_broker.bootstrap_servers
    lines = run_inside("kafka-features", "--bootstrap-server", server, "describe").lines
    rows = json.loads(run_inside("barnabas", "cluster", "features", "-b", server, "--json").stdout)
    assert [line.split()[1] for line in lines] == [row["feature"] for row in rows]
    assert {"feature": "group.version", "lowest": 0, "highest": 1, "finalized": 1} in rows


def test_update_of_our_broker_fails_for_each_feature(barnabas_broker: Broker) -> None:
    words = ["downgrade", "--feature", "group.version=0", "--feature", "b=1"]
    ran = run_inside("kafka-features", "--bootstrap-server", barnabas_broker.bootstrap_servers, *words)
    assert ran.code == 1
    assert ran.lines == [
        "Could not downgrade b to 1. The broker does not support UPDATE_FEATURES",
        "Could not downgrade group.version to 0. The broker does not support UPDATE_FEATURES",
    ]
    assert ran.stderr == "2 out of 2 operation(s) failed.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bootstrap-server", "x:1"], "too few arguments"),
        (["describe"], "You must specify either --bootstrap-controller or --bootstrap-server."),
        (["--bootstrap-server", "x:1", "describe", "--unsafe"], "unrecognized arguments: '--unsafe'"),
        (["--bootstrap-server", "x:1", "describe", "--nope"], "nope is not a recognized option"),
        (["feature-dependencies"], "argument --feature is required"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], message: str) -> None:
    ran = run_inside("kafka-features", *words)
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr == f"Command line error: {message}. Type --help for help.\n"


def test_help_names_the_commands() -> None:
    ran = run_inside("kafka-features", "--help")
    assert ran.code == 0
    assert "version-mapping" in ran.stdout
