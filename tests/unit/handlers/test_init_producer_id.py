from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode

from barnabas.controller.producer_ids import BLOCK_SIZE
from barnabas.metadata.store import StoreError


def ask(node: Node, version: int = 5, transactional_id: str | None = None, **body: Any) -> Any:
    return node.ask("InitProducerId", version, transactional_id=transactional_id, **body)


@pytest.mark.parametrize("version", range(7))
def test_each_producer_gets_an_id_of_its_own(node: Node, version: int) -> None:
    answers = [ask(node, version) for _ in range(3)]

    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in answers] == [
        (ErrorCode.none, number, 0) for number in range(3)
    ]


def test_ids_go_on_with_the_next_block(node: Node) -> None:
    ids = [ask(node).producer_id for _ in range(BLOCK_SIZE + 2)]

    assert ids == list(range(BLOCK_SIZE + 2))


def test_producer_that_wants_a_new_epoch_gets_a_new_id(node: Node) -> None:
    first = ask(node)

    again = ask(node, producer_id=first.producer_id, producer_epoch=0)

    assert (again.producer_id, again.producer_epoch) == (1, 0)


@pytest.mark.parametrize("given", [{"producer_id": 4}, {"producer_epoch": 4}])
def test_half_a_producer_is_refused(node: Node, given: dict[str, Any]) -> None:
    answer = ask(node, **given)

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (
        ErrorCode.invalid_request,
        -1,
        -1,
    )


@pytest.mark.parametrize(
    ("transactional_id", "error"), [("", ErrorCode.invalid_request), ("tx", ErrorCode.not_coordinator)]
)
def test_a_transactional_id_needs_a_name_and_a_coordinator(
    node: Node, transactional_id: str, error: ErrorCode
) -> None:
    answer = ask(node, transactional_id=transactional_id)

    assert (answer.error_code, answer.producer_id) == (error, -1)


def test_a_transactional_id_keeps_its_producer(node: Node) -> None:
    node.create_topic("__transaction_state", 2)
    timeout = timedelta(seconds=1)

    answers = [ask(node, transactional_id="tx", transaction_timeout=timeout) for _ in range(3)]

    assert {each.error_code for each in answers} == {ErrorCode.none}
    assert len({each.producer_id for each in answers}) == 1
    assert [each.producer_epoch for each in answers] == [0, 1, 2]


def test_store_that_fails_is_an_error_of_the_request(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise StoreError("no disk")

    monkeypatch.setattr(node.parts.producer_ids, "next_producer_id", fail)

    assert ask(node).error_code is ErrorCode.unknown_server_error


# --- version 6: two-phase commit --------------------------------------------------------------------------

SOFTWARE = {"client_software_name": "test", "client_software_version": "1"}
TWO_PHASE = "transaction.two.phase.commit.enable"
UNSTABLE = "unstable.api.versions.enable"


def with_transactions(start_node: StartNode, *switches: str) -> Node:
    """A node with these settings on."""
    node = start_node(dict.fromkeys(switches, "true"))
    node.create_topic("__transaction_state")
    return node


@pytest.mark.parametrize(
    ("switches", "newest"), [((), 5), ((TWO_PHASE,), 6), ((UNSTABLE,), 6), ((TWO_PHASE, UNSTABLE), 6)]
)
def test_version_6_is_served_where_the_configuration_opens_it(
    start_node: StartNode, switches: tuple[str, ...], newest: int
) -> None:
    keys = with_transactions(start_node, *switches).ask("ApiVersions", 4, **SOFTWARE).api_keys
    (found,) = (each for each in keys if each.api_key == 22)
    assert (found.min_version, found.max_version) == (0, newest)


@pytest.mark.parametrize(
    ("field", "error"),
    [
        ("enable2_pc", ErrorCode.transactional_id_authorization_failed),
        ("keep_prepared_txn", ErrorCode.unsupported_version),
    ],
)
def test_two_phase_commit_that_is_not_enabled_is_refused(
    start_node: StartNode, field: str, error: ErrorCode
) -> None:
    node = with_transactions(start_node, UNSTABLE)
    fields: dict[str, Any] = {"transactional_id": "tx", "transaction_timeout": timedelta(seconds=1)}

    refused = ask(node, 6, **(fields | {field: True}))
    granted = ask(node, 6, **fields)

    assert (refused.error_code, refused.producer_id, refused.producer_epoch) == (error, -1, -1)
    assert (granted.error_code, granted.producer_epoch) == (ErrorCode.none, 0)


def test_kept_transaction_is_in_the_response_with_the_new_producer(start_node: StartNode) -> None:
    node = with_transactions(start_node, TWO_PHASE)
    first = ask(node, 6, "tx", enable2_pc=True)  # it needs no timeout
    added = node.ask(
        "AddOffsetsToTxn",
        4,
        transactional_id="tx",
        producer_id=first.producer_id,
        producer_epoch=first.producer_epoch,
        group_id="group",
    )
    assert (first.ongoing_txn_producer_id, first.ongoing_txn_producer_epoch) == (-1, -1)
    assert added.error_code is ErrorCode.none

    kept = ask(node, 6, "tx", enable2_pc=True, keep_prepared_txn=True)

    assert kept.error_code is ErrorCode.none
    assert (kept.producer_id, kept.producer_epoch) == (first.producer_id, 1)
    assert (kept.ongoing_txn_producer_id, kept.ongoing_txn_producer_epoch) == (first.producer_id, 0)
