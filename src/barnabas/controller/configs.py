"""Dynamic configuration of topics, brokers and groups (KIP-226, KIP-339, KIP-848).

Kafka checks a change twice, on the broker that received it (ConfigAdminManager) and in the controller
(ConfigurationControlManager). Here both happen in that order, with the same codes and messages. If the broker
that received the change is not the controller, it does its part with `check` and forwards the rest: the
controller does not know the static configuration of another broker.
Configurations are stored at `/config/topics/<topic>`, `/config/brokers/<id>` or `<default>`,
`/config/groups/<group>`. The changes of one request are one transaction, each by compare-and-set.
Synchronous: runs on the store's thread.
"""

import logging
from collections import Counter
from collections.abc import Sequence

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.broker_keys import validate_dynamic_broker_configs
from barnabas.base.config.group_keys import validate_group_configs
from barnabas.base.config.keys import ConfigError
from barnabas.base.config.topic_keys import validate_topic_configs
from barnabas.base.errors import (
    InvalidRequest,
    KafkaError,
    RequestTimedOut,
    StorageError,
    UnknownTopicOrPartition,
)
from barnabas.controller.config_changes import changed_configs, check_form
from barnabas.controller.min_isr_changes import check_min_isr_change, elr_clearing
from barnabas.controller.requests import (
    NO_ERROR,
    ConfigAlteration,
    ConfigReplacement,
    ConfigResult,
    ResourceType,
)
from barnabas.controller.topic_names import validate_topic_name
from barnabas.controller.writer import MetadataWriter
from barnabas.metadata import nodes, paths
from barnabas.metadata.store import (
    BadVersion,
    Check,
    Create,
    Delete,
    NodeExists,
    NoNode,
    Operation,
    Set,
    StoreError,
)

logger = logging.getLogger(__name__)

_ATTEMPTS = 10

Request = ConfigReplacement | ConfigAlteration


class ConfigAdmin:
    def __init__(self, cluster: MetadataWriter, settings: BrokerConfig) -> None:
        self._cluster: MetadataWriter = cluster
        self._settings: BrokerConfig = settings

    def configure(self, settings: BrokerConfig) -> None:
        """Apply a change of the broker's configuration."""
        self._settings = settings

    def alter(
        self, requests: Sequence[Request], validate_only: bool = False, *, is_checked: bool = False
    ) -> list[ConfigResult]:
        """Change the configuration of each resource. Returns one result for each, in order.

        `is_checked`: the broker that received the request has done its part of the checks.
        """
        results: list[ConfigResult] = []
        for _ in range(_ATTEMPTS):
            results, operations = self._examine(requests, is_checked)
            if validate_only or not operations:
                return results
            try:
                self._cluster.transaction(operations)
                return results
            except (BadVersion, NodeExists, NoNode) as conflict:
                # Another broker has changed one of them concurrently: read again and retry.
                self._cluster.refresh([conflict.path])
            except StoreError as broken:
                logger.error("Cannot write configurations to the metadata store: %s", broken)
                return _failed_all(requests, results, StorageError(str(broken)))
        return _failed_all(requests, results, RequestTimedOut("Others change the same configuration."))

    def check(self, requests: Sequence[Request]) -> list[ConfigResult]:
        """The checks of the broker that received the request. Returns one result for each, in order."""
        return self._examine(requests, is_checked=False)[0]

    def _examine(
        self, requests: Sequence[Request], is_checked: bool
    ) -> tuple[list[ConfigResult], list[Operation]]:
        """Returns the results and the writes, if nothing fails."""
        counts = Counter((request.resource_type, request.resource_name) for request in requests)
        results: list[ConfigResult] = []
        operations: list[Operation] = []
        for request in requests:
            try:
                if counts[request.resource_type, request.resource_name] > 1:
                    raise InvalidRequest("Each resource must appear at most once.")
                operations += self._operations(request, is_checked)
                results.append(ConfigResult(request.resource_type, request.resource_name))
            except KafkaError as error:
                results.append(_failed(request, error))
            except StoreError as broken:
                results.append(_failed(request, StorageError(str(broken))))
        return results, operations

    def _operations(self, request: Request, is_checked: bool) -> list[Operation]:
        """Returns the writes for a valid request. Raises KafkaError for an invalid one."""
        check_form(request)
        path = self._path_of(request, is_checked)
        try:
            data, stat = self._cluster.store.get(path)
        except NoNode:
            version, before = None, {}
        else:
            version, before = stat.version, nodes.read(path, data, nodes.decode_config)
        after = changed_configs(request, before)
        change = (request.resource_type, request.resource_name, before, after)
        check_min_isr_change(*change)
        self._validate(request, after, is_checked)
        if after == before:
            return []
        operations = elr_clearing(self._cluster.image, *change)
        if request.resource_type == ResourceType.TOPIC:
            operations.append(Check(paths.topic(request.resource_name)))
        elif not after and version is not None:
            return [*operations, Delete(path, version)]
        return [*operations, _write(path, after, version)]

    def _path_of(self, request: Request, is_checked: bool) -> str:
        name = request.resource_name
        match request.resource_type:
            case ResourceType.TOPIC:
                if not name:
                    raise InvalidRequest("Default topic resources are not allowed.")
                validate_topic_name(name)
                return paths.topic_config(name)
            case ResourceType.BROKER:
                self._check_broker_name(name, is_checked)
                return paths.broker_config(name)
            case ResourceType.GROUP:
                if not name:
                    raise InvalidRequest("Default group resources are not allowed.")
                return paths.group_config(name)
            case ResourceType.CLIENT_METRICS:
                raise InvalidRequest("Client metrics subscriptions are not supported.")
            case unknown:
                raise InvalidRequest(f"Unknown resource type {int(unknown)}")

    def _check_broker_name(self, name: str, is_checked: bool) -> None:
        """A broker may change its own configuration, or with an empty name the cluster-wide default."""
        if not name:
            return
        try:
            broker_id = int(name)
        except ValueError:
            raise InvalidRequest(f"Node id must be an integer, but it is: {name}") from None
        if broker_id != self._settings.broker_id and not is_checked:
            raise InvalidRequest(
                f"Unexpected broker id, expected {self._settings.broker_id}, but received {name}"
            )

    def _validate(self, request: Request, configs: dict[str, str], is_checked: bool) -> None:
        match request.resource_type:
            case ResourceType.TOPIC:
                validate_topic_configs(configs, self._settings.log_defaults())
                self._check_topic_exists(request.resource_name)
            case ResourceType.GROUP:
                validate_group_configs(configs, self._settings.get)
            case _:
                self._validate_broker(request.resource_name, configs, is_checked)

    def _validate_broker(self, name: str, configs: dict[str, str], is_checked: bool) -> None:
        """`name` is empty for the cluster-wide default."""
        per_broker = bool(name)
        try:
            validate_dynamic_broker_configs(configs, per_broker)
            if is_checked:
                return  # Against the configuration of the broker that received the request.
            if per_broker:
                self._settings.with_dynamic(configs)
            else:
                self._settings.with_dynamic(self._settings.dynamic, configs)
        except ConfigError as error:
            # KAFKA-13609: this code is not precise, but clients expect it.
            raise InvalidRequest(error.message) from error

    def _check_topic_exists(self, name: str) -> None:
        if name not in self._cluster.image.topics:
            self._cluster.refresh([paths.topic(name)])
        if name not in self._cluster.image.topics:
            raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")


def _write(path: str, configs: dict[str, str], version: int | None) -> Operation:
    data = nodes.encode_config(configs)
    return Create(path, data) if version is None else Set(path, data, version)


def _failed(request: Request, error: KafkaError) -> ConfigResult:
    return ConfigResult(request.resource_type, request.resource_name, error.code, error.message)


def _failed_all(
    requests: Sequence[Request], results: Sequence[ConfigResult], error: KafkaError
) -> list[ConfigResult]:
    """The results if nothing could be written. A refused request keeps its own error."""
    return [
        _failed(request, error) if result.error is NO_ERROR else result
        for request, result in zip(requests, results, strict=True)
    ]
