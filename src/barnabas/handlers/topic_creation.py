"""Topics that this broker wants itself, for a client that names them or for a coordinator.

The controller creates them: this broker if it is the controller, else it gets a CreateTopics request, as from
a client (`handlers.forwarding`).
"""

import logging
from collections.abc import Sequence
from typing import Any, Final

from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.base.principal import ANONYMOUS
from barnabas.controller.requests import CreatedTopic, NewTopic
from barnabas.controller.topics import TopicAdmin
from barnabas.handlers.context import StoreThread
from barnabas.handlers.forwarding import Forwarding, Relayed
from barnabas.metadata import paths
from barnabas.wire.embedded import embedded_body
from barnabas.wire.envelope import envelope_request
from barnabas.wire.message_codec import encode_request

logger = logging.getLogger("requests")

_CREATE_TOPICS, _VERSION = 19, 7
_SECONDS: Final = 5.0
"""A client waits meanwhile. It tries again."""


class TopicCreation:
    def __init__(self, topics: TopicAdmin, store: StoreThread, forwarding: Forwarding) -> None:
        self._topics: TopicAdmin = topics
        self._store: StoreThread = store
        self._forwarding: Forwarding = forwarding

    async def create(self, topics: Sequence[NewTopic]) -> list[CreatedTopic]:
        """Returns one result for each topic. They are in this broker's image unless it says otherwise."""

        async def here() -> list[CreatedTopic]:
            return await self._store.run(self._topics.create_topics, topics)

        fields = {"topics": [_fields(each) for each in topics], "timeout": int(_SECONDS * 1000)}
        frame = encode_request("create_topics", _VERSION, 0, "", fields)
        try:
            answer = await self._forwarding.carry_out(here, envelope_request(frame, ANONYMOUS, ""), _SECONDS)
            if not isinstance(answer, Relayed):
                return answer
            results = embedded_body(_CREATE_TOPICS, _VERSION, answer.data).topics
        except KafkaError as error:
            return [CreatedTopic(each.name, error.code, error.message) for each in topics]
        changed = [path(each.name) for each in topics for path in (paths.topic, paths.topic_config)]
        await self._forwarding.refresh(changed)
        return [_result(each) for each in results]


def _fields(topic: NewTopic) -> dict[str, Any]:
    configs = [{"name": name, "value": value} for name, value in topic.configs.items()]
    return {
        "name": topic.name,
        "num_partitions": topic.num_partitions,
        "replication_factor": topic.replication_factor,
        "assignments": [],
        "configs": configs,
    }


def _result(result: Any) -> CreatedTopic:
    return CreatedTopic(
        result.name,
        ErrorCode(result.error_code),
        result.error_message,
        num_partitions=result.num_partitions,
        replication_factor=result.replication_factor,
    )
