import base64

import pytest
from tests.fakes.schema_registry import SchemaRegistry

from barnabas.spark.registry import client
from barnabas.spark.registry.client import Access, RegistryClient, Schema
from barnabas.spark.registry.errors import BadRecord, RegistryUnavailable


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_PAUSE", 0.0)


def _client(registry: SchemaRegistry, auth: tuple[str, str] | None = None) -> RegistryClient:
    return RegistryClient(Access.of(f"{registry.url}/", {}, auth, None, 5.0))


def test_a_schema_is_requested_once() -> None:
    with SchemaRegistry() as registry:
        number = registry.register("s", "AVRO", '"long"')
        client = _client(registry)
        assert {client.by_id(number) for _ in range(3)} == {Schema("AVRO", '"long"')}
        assert len(registry.requests) == 1


def test_what_a_schema_refers_to_comes_before_it() -> None:
    with SchemaRegistry() as registry:
        registry.register("c", "PROTOBUF", "C")
        registry.register("b", "PROTOBUF", "B", [{"name": "c.proto", "subject": "c", "version": 1}])
        number = registry.register(
            "a",
            "PROTOBUF",
            "A",
            [
                {"name": "b.proto", "subject": "b", "version": 1},
                {"name": "c.proto", "subject": "c", "version": 1},
            ],
        )
        expected = Schema("PROTOBUF", "A", (("c.proto", "C"), ("b.proto", "B")))
        assert _client(registry).by_id(number) == expected


def test_versions_of_a_subject() -> None:
    with SchemaRegistry() as registry:
        registry.register("s/x", "JSON", "{}")
        registry.register("s/x", "JSON", "true")
        registry.subjects["s%2Fx"] = registry.subjects["s/x"]
        assert _client(registry).by_subject("s/x", "latest").text == "true"
        assert _client(registry).by_subject("s/x", 1).text == "{}"
        with pytest.raises(RegistryUnavailable, match="no version latest of the subject t"):
            _client(registry).by_subject("t", "latest")


def test_an_unknown_id_is_a_bad_record_and_an_unknown_address_is_not() -> None:
    with SchemaRegistry() as registry:
        with pytest.raises(BadRecord, match="no schema of the id 9"):
            _client(registry).by_id(9)
        wrong = RegistryClient(Access.of(registry.url + "/typo", {}, None, None, 5.0))
        with pytest.raises(RegistryUnavailable, match="answers 404"):
            wrong.by_id(9)


def test_request_to_an_unavailable_registry_is_retried() -> None:
    with SchemaRegistry() as registry:
        number = registry.register("s", "AVRO", '"long"')
        registry.failures.extend([503, 429, 500])
        assert _client(registry).by_id(number).text == '"long"'
        registry.failures.extend([503] * 4)
        with pytest.raises(RegistryUnavailable, match="answers 503"):
            _client(registry).by_id(number)
        registry.failures.extend([401, 401])
        with pytest.raises(RegistryUnavailable, match="answers 401"):
            _client(registry).by_id(number)
        assert len(registry.failures) == 1, "a refusal is not repeated"
    with pytest.raises(RegistryUnavailable, match="refused"):
        _client(registry).by_id(number)


def test_a_name_and_a_password_are_sent() -> None:
    with SchemaRegistry() as registry:
        _client(registry, ("anna", "secret")).by_id(registry.register("s", "AVRO", '"long"'))
        expected = "Basic " + base64.b64encode(b"anna:secret").decode()
        assert registry.requests[0][1] == expected
