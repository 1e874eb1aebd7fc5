"""`from_registry` in a real query, against a registry in memory and a real one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from tests.fakes import registry_frames as frames
from tests.fakes.schema_registry import SchemaRegistry
from tests.integration.clients.jars import fetch_jars
from tests.integration.spark.apicurio import Apicurio, ApicurioUnavailable, fetch_apicurio, running_apicurio
from tests.integration.spark.queries import Queries
from tests.integration.spark.records import records_of

from barnabas.spark.registry import from_registry
from barnabas.spark.registry.client import Schema
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.needs("pyspark", "java", "fastavro", "grpc_tools", "jsonschema")

_OLD = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
_NEW = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"at","type":[{"type":"long","logicalType":"timestamp-millis"},"null"],"default":0},'
    '{"name":"tags","type":{"type":"map","values":"string"},"default":{}}]}'
)
_MONEY = 'syntax = "proto3";\npackage shop;\n\nmessage Money {\n  int64 cents = 1;\n}\n'
_PROTO = (
    'syntax = "proto3";\npackage shop;\n\nimport "money.proto";\n\nmessage Other {\n  string x = 1;\n}\n\n'
    "message Order {\n  int64 id = 1;\n  Money price = 2;\n  repeated string tags = 3;\n}\n"
)
_MONEY_JSON = '{"type":"object","properties":{"cents":{"type":"integer","minimum":0}}}'
_JSON = json.dumps(
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "price": {"$ref": "money.json"}},
        "required": ["id"],
    }
)


@pytest.fixture(
    scope="module", params=["in memory", pytest.param("apicurio", marks=pytest.mark.maven)], ids=str
)
def registry(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchemaRegistry | Apicurio]:
    if request.param == "in memory":
        with SchemaRegistry() as fake:
            yield fake
        return
    try:
        program = fetch_apicurio(fetch_jars().parent)
    except ApicurioUnavailable as error:
        pytest.skip(f"apicurio is missing; to get it: a network that reaches Maven Central ({error})")
    with running_apicurio(program, tmp_path_factory.mktemp("apicurio")) as real:
        yield real


def _produce(broker: Broker, topic: str, records: list[bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for record in records:
        producer.produce(topic, record, partition=0)
    assert producer.flush(30) == 0


def _decoded(queries: Queries, topic: str, url: str, **options: Any) -> "DataFrame":
    rows = queries.read(topic)
    return rows.withColumn("decoded", from_registry("value", url, **options)).orderBy("offset")


def _plain(decoded: "DataFrame") -> list[tuple[Any, Any]]:
    rows = [row.decoded.asDict(recursive=True) for row in decoded.select("decoded").collect()]
    return [(row["value"], row["error"]) for row in rows]


def test_avro_of_two_versions_and_bad_records(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, registry: SchemaRegistry | Apicurio
) -> None:
    old = registry.register(kafka_topic, "AVRO", _OLD)
    new = registry.register(kafka_topic, "AVRO", _NEW)
    late = {"id": 2, "at": 1_700_000_000_000, "tags": {"a": "b"}}
    records = [frames.avro(old, _OLD, {"id": 1}), frames.avro(new, _NEW, late), b"garbage", None]
    _produce(kafka_broker, kafka_topic, [*records, frames.framed(2**31 - 1, b"\2")])
    decoded = _decoded(queries, kafka_topic, registry.url, subject=kafka_topic)
    expected = "struct<value:struct<id:bigint,at:timestamp,tags:map<string,string>>,error:string>"
    assert decoded.schema["decoded"].dataType.simpleString() == expected
    found = _plain(decoded.selectExpr("offset", "decoded"))
    assert [value and (value["id"], value["tags"]) for value, _ in found] == [
        (1, {}),
        (2, {"a": "b"}),
        None,
        None,
        None,
    ]
    assert found[1][0]["at"].timestamp() == 1_700_000_000
    errors = [error for _, error in found]
    assert errors[:2] == [None, None]
    assert errors[2] == "the first byte is 103, not 0: no record of a schema registry"
    assert errors[3:] == [None, f"the registry has no schema of the id {2**31 - 1}"]
    letters = decoded.where("decoded.error is not null").selectExpr(
        "value", "array(struct('error' as key, binary(decoded.error) as value)) as headers"
    )
    writer = letters.write.format("barnabas").mode("append").option("topic", f"{kafka_topic}.dead")
    kafka_broker.create_topic(f"{kafka_topic}.dead")
    writer.option("kafka.bootstrap.servers", kafka_broker.bootstrap_servers).save()
    dead = records_of(kafka_broker.bootstrap_servers, f"{kafka_topic}.dead")
    assert [each.value for each in dead] == [b"garbage", frames.framed(2**31 - 1, b"\2")]


def test_protobuf_with_an_import(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, registry: SchemaRegistry | Apicurio
) -> None:
    registry.register(f"{kafka_topic}-money", "PROTOBUF", _MONEY)
    references = [{"name": "money.proto", "subject": f"{kafka_topic}-money", "version": 1}]
    number = registry.register(kafka_topic, "PROTOBUF", _PROTO, references)
    schema = Schema("PROTOBUF", _PROTO, (("money.proto", _MONEY),))
    order = {"id": 7, "price": {"cents": 250}, "tags": ["a", "b"]}
    _produce(kafka_broker, kafka_topic, [frames.protobuf(number, schema, order, (1,)), b"\0\0\0\0"])
    typed = _decoded(queries, kafka_topic, registry.url, subject=kafka_topic, message="shop.Order")
    found = _plain(typed)
    assert found[0] == (order, None)
    assert "too few for a schema id" in found[1][1]
    text = _plain(_decoded(queries, kafka_topic, registry.url))[0]
    assert json.loads(text[0]) == {"id": "7", "price": {"cents": "250"}, "tags": ["a", "b"]}


def test_json_with_a_reference(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, registry: SchemaRegistry | Apicurio
) -> None:
    registry.register(f"{kafka_topic}-money", "JSON", _MONEY_JSON)
    references = [{"name": "money.json", "subject": f"{kafka_topic}-money", "version": 1}]
    number = registry.register(kafka_topic, "JSON", _JSON, references)
    good, bad = {"id": 1, "price": {"cents": 5}}, {"id": 1, "price": {"cents": -5}}
    _produce(kafka_broker, kafka_topic, [frames.of_json(number, each) for each in (good, bad)])
    found = _plain(_decoded(queries, kafka_topic, registry.url, schema="id int, price struct<cents: bigint>"))
    assert found[0] == (good, None)
    assert found[1] == (
        None,
        "not valid against its schema: $.price.cents: -5 is less than the minimum of 0",
    )


def test_a_stream_fails_while_the_registry_is_away_and_goes_on_when_it_is_back(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, tmp_path: Path
) -> None:
    with SchemaRegistry() as registry:
        number = registry.register(kafka_topic, "AVRO", _OLD)
        _produce(kafka_broker, kafka_topic, [frames.avro(number, _OLD, {"id": 1})])
        options = {"kafka.bootstrap.servers": kafka_broker.bootstrap_servers, "subscribe": kafka_topic}

        def run() -> list[str]:
            found: list[str] = []
            stream = queries.spark.readStream.format("barnabas").options(**options)
            decoded = from_registry("value", registry.url).alias("decoded")
            rows = stream.option("startingOffsets", "earliest").load().select(decoded)
            writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            writer = writer.foreachBatch(
                lambda batch, _: found.extend(row[0].value for row in batch.collect())
            )
            writer.trigger(availableNow=True).start().awaitTermination()
            return found

        registry.failures.extend([503] * 4)
        with pytest.raises(Exception, match=r"RegistryUnavailable|cannot be read: it answers 503"):
            run()
        assert run() == ['{"id": 1}']
