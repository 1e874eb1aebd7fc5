"""kafka-broker-api-versions and `barnabas cluster apis` against our broker."""

import json

from tests.integration.tools.programs import run_inside

from barnabas.testing import Broker


def test_every_api_is_a_line_and_every_line_an_api(barnabas_broker: Broker) -> None:
    server = barnabas_broker.bootstrap_servers
    head, *lines, tail = run_inside("kafka-broker-api-versions", "--bootstrap-server", server).lines
    assert head == f"{server} (id: 1 rack: null isFenced: false) -> ("
    assert tail == ")"
    assert "\tMetadata(3): 0 to 13 [usable: 13]," in lines
    assert "\tUpdateFeatures(57): UNSUPPORTED," in lines
    rows = json.loads(run_inside("barnabas", "cluster", "apis", "-b", server, "--all", "--json").stdout)
    assert [line.strip().partition("(")[0] for line in lines] == [row["api"] for row in rows]
    served = [row for row in rows if row["lowest"] is not None]
    assert all(row["usable"] == row["highest"] and row["brokers"] == [1] for row in served)


def test_apis_that_are_not_served_are_shown_on_demand(barnabas_broker: Broker) -> None:
    words = ["barnabas", "cluster", "apis", "-b", barnabas_broker.bootstrap_servers]
    some, everything = run_inside(*words).lines, run_inside(*words, "--all").lines
    assert some[0].split() == ["KEY", "API", "LOWEST", "HIGHEST", "USABLE", "BROKERS"]
    assert not any("UpdateFeatures" in line for line in some)
    assert any("UpdateFeatures" in line for line in everything)


def test_broker_that_is_away_is_one_line() -> None:
    ran = run_inside("kafka-broker-api-versions", "--bootstrap-server", "127.0.0.1:1")
    assert ran.code == 1
    assert len(ran.stderr.splitlines()) == 1
