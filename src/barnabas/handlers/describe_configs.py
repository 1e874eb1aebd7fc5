"""DescribeConfigs (32), versions 1 to 4: every key of a topic, a broker, a group, or the levels of a
broker's loggers.

A broker describes itself and, under the empty name, the dynamic defaults of the cluster; another id is
INVALID_REQUEST. Synonyms (KIP-226), types and documentation (KIP-569) if requested; the values of secrets
are null. An unknown topic is UNKNOWN_TOPIC_OR_PARTITION; groups need not exist (KIP-848). Loggers: KIP-412.

Deviations: client metrics (KIP-714) are not served: INVALID_REQUEST. An unknown resource type is
INVALID_REQUEST for that resource; Kafka fails the whole request.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from barnabas.base.config.describe import (
    ConfigSource,
    DescribedConfig,
    describe_broker,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from barnabas.base.errors import ErrorCode, InvalidRequest, KafkaError, UnknownTopicOrPartition
from barnabas.controller.requests import ResourceType
from barnabas.controller.topic_names import validate_topic_name
from barnabas.handlers import broker_loggers
from barnabas.handlers.config_resources import check_is_this_broker
from barnabas.handlers.context import ConfigContext, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource


def handle(context: ConfigContext, request: Request) -> Reply:
    body: DescribeConfigsRequest = request.body
    return Reply(results=[_resource(context, body, resource) for resource in body.resources])


def _resource(
    context: ConfigContext, body: "DescribeConfigsRequest", resource: "DescribeConfigsResource"
) -> Reply:
    kind, name = int(resource.resource_type), resource.resource_name
    wanted = resource.configuration_keys or None
    try:
        if kind == ResourceType.BROKER_LOGGER:
            check_is_this_broker(context, name)
            configs = list(_loggers(wanted))
        else:
            configs = list(_configs(_described(context, kind, name), wanted, body))
    except KafkaError as error:
        return Reply(
            error_code=error.code, error_message=error.message, resource_type=kind, resource_name=name
        )
    return Reply(error_code=ErrorCode.none, resource_type=kind, resource_name=name, configs=configs)


def _described(context: ConfigContext, resource_type: int, name: str) -> Iterable[DescribedConfig]:
    config, image = context.config, context.image
    match resource_type:
        case ResourceType.TOPIC:
            validate_topic_name(name)
            if name not in image.topics:
                raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")
            return describe_topic(image.topic_configs.get(name, {}), config)
        case ResourceType.BROKER:
            if not name:
                return describe_cluster_defaults(config)
            check_is_this_broker(context, name)
            return describe_broker(config)
        case ResourceType.GROUP:
            if not name:
                raise InvalidRequest("Group name must not be empty")
            return describe_group(image.group_configs.get(name, {}), config)
        case ResourceType.CLIENT_METRICS:
            raise InvalidRequest("Client metrics subscriptions are not supported.")
        case _:
            raise InvalidRequest(f"Unknown resource type {resource_type}")


def _configs(
    described: Iterable[DescribedConfig], wanted: tuple[str, ...] | None, body: "DescribeConfigsRequest"
) -> Iterator[Reply]:
    for each in described:
        if wanted is not None and each.name not in wanted:
            continue
        yield Reply(
            name=each.name,
            value=each.value,
            read_only=each.read_only,
            config_source=each.source,
            is_sensitive=each.sensitive,
            synonyms=[
                Reply(name=synonym.name, value=synonym.value, source=synonym.source)
                for synonym in (each.synonyms if body.include_synonyms else ())
            ],
            config_type=each.type,
            documentation=each.doc if body.include_documentation else None,
        )


def _loggers(wanted: tuple[str, ...] | None) -> Iterator[Reply]:
    for name, level in broker_loggers.levels().items():
        if wanted is None or name in wanted:
            yield Reply(
                name=name,
                value=level,
                read_only=False,
                config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
                is_sensitive=False,
            )
