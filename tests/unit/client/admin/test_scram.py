import base64
import hashlib
import hmac

import pytest
from tests.fakes.scripted_cluster import scripted_cluster

from barnabas.client.admin.scram import (
    Credential,
    Described,
    alter_credentials,
    describe_credentials,
    is_scram,
    salted_password,
)
from barnabas.client.errors import BrokerError

RESOURCE_NOT_FOUND, DUPLICATE_RESOURCE = 91, 92


def test_salted_password_proves_what_rfc_7677_says() -> None:
    """Its example for SCRAM-SHA-256: user "user", password "pencil"."""
    salted = salted_password(
        Credential("SCRAM-SHA-256", 4096, "pencil"), base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    )
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    message = (
        f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}"
    ).encode()
    signature = hmac.digest(hashlib.sha256(client_key).digest(), message, "sha256")
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    assert base64.b64encode(proof) == b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


@pytest.mark.parametrize(
    ("text", "iterations", "password"),
    [
        ("password=secret", 4096, "secret"),
        ("iterations=8192,password=a=b,c", 8192, "a=b,c"),
        ("iterations=-1,password=", 4096, ""),
    ],
)
def test_credentials_are_read_as_kafka_reads_them(text: str, iterations: int, password: str) -> None:
    assert Credential.parse("SCRAM-SHA-512", text) == ("SCRAM-SHA-512", iterations, password)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("secret", "Invalid credential property SCRAM_SHA_256=secret"),
        ("iterations=x,password=a", "Invalid credential property SCRAM_SHA_256=iterations=x,password=a"),
        ("iterations=,password=a", 'For input string: ""'),
        (
            "iterations=10,password=a",
            "Iterations 10 is less than the minimum 4096 required for SCRAM-SHA-256",
        ),
    ],
)
def test_bad_credentials_are_refused_with_kafkas_text(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as refused:
        Credential.parse("SCRAM-SHA-256", text)
    assert str(refused.value) == problem


def test_only_the_two_mechanisms_are_scram() -> None:
    assert [
        name for name in ("SCRAM-SHA-256", "SCRAM-SHA-512", "SCRAM-SHA-1", "PLAIN") if is_scram(name)
    ] == [
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
    ]


def test_the_broker_gets_a_salted_password_and_a_fresh_salt() -> None:
    answer = {"results": [{"user": "u", "error_code": 0, "error_message": None}]}
    credential = Credential("SCRAM-SHA-512", 5000, "secret")
    with scripted_cluster({"alter_user_scram_credentials": answer}) as (cluster, broker):
        for _ in range(2):
            alter_credentials(cluster, "u", add=[credential], delete=["SCRAM-SHA-256"])
    first, second = (request for request in broker.requests if hasattr(request, "upsertions"))
    (sent,) = first.upsertions
    assert (sent.name, sent.mechanism, sent.iterations) == ("u", 2, 5000)
    assert sent.salted_password == salted_password(credential, sent.salt)
    assert [(each.name, each.mechanism) for each in first.deletions] == [("u", 1)]
    assert sent.salt != second.upsertions[0].salt


def test_an_empty_password_is_refused_before_anything_is_sent() -> None:
    with (
        scripted_cluster({"alter_user_scram_credentials": {"results": []}}) as (cluster, broker),
        pytest.raises(BrokerError, match="Password must not be empty"),
    ):
        alter_credentials(cluster, "u", add=[Credential("SCRAM-SHA-256", 4096, "")])
    assert broker.requests == []


def test_a_refused_alteration_is_an_error() -> None:
    answer = {"results": [{"user": "u", "error_code": DUPLICATE_RESOURCE, "error_message": "twice"}]}
    with (
        scripted_cluster({"alter_user_scram_credentials": answer}) as (cluster, _),
        pytest.raises(BrokerError, match="twice"),
    ):
        alter_credentials(cluster, "u", delete=["SCRAM-SHA-256"])


def test_users_without_credentials_are_left_out_and_errors_kept() -> None:
    known = [{"mechanism": 1, "iterations": 4096}, {"mechanism": 9, "iterations": 1}]
    results = [
        {"user": "a", "error_code": 0, "credential_infos": known},
        {"user": "b", "error_code": RESOURCE_NOT_FOUND, "error_message": "none"},
        {"user": "c", "error_code": DUPLICATE_RESOURCE, "error_message": "requested twice"},
    ]
    answer = {"error_code": 0, "results": results}
    with scripted_cluster({"describe_user_scram_credentials": answer}) as (cluster, broker):
        found = describe_credentials(cluster, ["a", "b", "c"])
        describe_credentials(cluster)
    assert list(found) == ["a", "c"]
    assert found["a"] == [Described("SCRAM-SHA-256", 4096), Described("UNKNOWN", 1)]
    assert isinstance(found["c"], BrokerError)
    assert [request.users and len(request.users) for request in broker.requests] == [3, None]
