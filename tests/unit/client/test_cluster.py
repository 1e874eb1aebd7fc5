import dataclasses
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from tests.fakes.scripted_broker import ScriptedBroker
from tests.patience import PATIENCE

from barnabas.client.cluster import GROUP, Cluster
from barnabas.client.errors import BrokerError, Unreachable
from barnabas.client.settings import ClientSettings

NOT_COORDINATOR, LEADER_NOT_AVAILABLE, INVALID_TOPIC = 16, 5, 17


def _settings(*brokers: str, patience: float = 0.0, api_timeout: float = PATIENCE) -> ClientSettings:
    from barnabas.client.address import parse_addresses

    return ClientSettings(
        tuple(parse_addresses(",".join(brokers))),
        patience=patience,
        api_timeout=api_timeout,
        request_timeout=PATIENCE,
    )


def test_first_bootstrap_server_that_answers_is_used() -> None:
    with ScriptedBroker() as broker, Cluster(_settings("127.0.0.1:1", broker.address)) as cluster:
        assert cluster.cluster_id == "scripted"
        assert cluster.controller_id == 1
        assert list(cluster.nodes) == [1]


def test_peer_that_says_nothing_does_not_hide_the_next_bootstrap_server() -> None:
    with ScriptedBroker() as broker, socket.create_server(("127.0.0.1", 0)) as silent:
        settings = _settings(f"127.0.0.1:{silent.getsockname()[1]}", broker.address)
        with Cluster(dataclasses.replace(settings, connect_timeout=1.0)) as cluster:
            assert cluster.cluster_id == "scripted"


def test_unreachable_cluster_names_every_address_once_in_one_line() -> None:
    with Cluster(_settings("127.0.0.1:1", "127.0.0.1:2")) as cluster, pytest.raises(Unreachable) as failure:
        cluster.nodes  # noqa: B018  asking is what fails
    text = str(failure.value)
    assert "127.0.0.1:1: connection refused; 127.0.0.1:2: connection refused" in text
    assert "\n" not in text


def test_one_connection_serves_many_requests_to_a_broker() -> None:
    with ScriptedBroker() as broker, Cluster(_settings(broker.address)) as cluster:
        for _ in range(3):
            cluster.metadata([])
            cluster.send_to_controller("metadata", topics=[])
        assert broker.connections == 2


def test_asking_creates_no_topic() -> None:
    with ScriptedBroker() as broker, Cluster(_settings(broker.address)) as cluster:
        cluster.metadata(["t"])
        assert broker.requests[-1].allow_auto_topic_creation is False


def test_unknown_broker_lists_those_that_are_there() -> None:
    with (
        ScriptedBroker() as broker,
        Cluster(_settings(broker.address)) as cluster,
        pytest.raises(Unreachable, match=r"no broker 7 \(it has 1\)"),
    ):
        cluster.request("metadata", to=7, topics=[])


def test_error_that_passes_is_tried_again() -> None:
    codes = iter([NOT_COORDINATOR, NOT_COORDINATOR, 0])

    def coordinator(request: Any) -> Mapping[str, object]:
        return {"error_code": next(codes), "node_id": 1, "host": "127.0.0.1", "port": 1}

    with (
        ScriptedBroker({"find_coordinator": coordinator}) as broker,
        Cluster(_settings(broker.address)) as cluster,
    ):
        assert cluster.retried(lambda: cluster.coordinator(GROUP, "g")) == 1
        assert cluster.coordinator(GROUP, "g") == 1  # cached: no second request
    assert list(codes) == []


def test_error_that_stays_is_raised_at_once() -> None:
    calls = []

    def attempt() -> None:
        calls.append(1)
        raise BrokerError(INVALID_TOPIC)

    with Cluster(_settings("127.0.0.1:1")) as cluster, pytest.raises(BrokerError):
        cluster.retried(attempt)
    assert len(calls) == 1


def test_error_that_does_not_pass_in_time_is_raised() -> None:
    def attempt() -> None:
        raise BrokerError(LEADER_NOT_AVAILABLE)

    with Cluster(_settings("127.0.0.1:1", api_timeout=0.15)) as cluster, pytest.raises(BrokerError):
        cluster.retried(attempt)


def test_error_of_the_broker_has_its_name_and_words() -> None:
    assert BrokerError(36).name == "topic_already_exists"
    assert str(BrokerError(36, "Topic 't' already exists.")) == "Topic 't' already exists."
    assert str(BrokerError(3)) == "This server does not host this topic-partition."
    newer = BrokerError(9999)
    assert newer.name == "error_9999"
    assert not newer.is_retriable
