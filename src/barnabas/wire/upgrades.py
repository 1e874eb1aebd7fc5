"""Fields that were renamed between versions of a request: how the old name becomes the new one.

Each function takes the request as it came and returns the newest version's fields it can fill. APIs
whose fields only ever grew need nothing here.
"""

from collections.abc import Callable
from typing import Any

DELETE_TOPICS = 20


def _delete_topics(raw: Any) -> dict[str, Any]:
    """Versions 1-5 list names; version 6 lists topics by name or id (KIP-516)."""
    if not hasattr(raw, "topic_names"):
        return {}
    from kio.schema.delete_topics.v6.request import DeleteTopicState

    return {"topics": tuple(DeleteTopicState(name=name, topic_id=None) for name in raw.topic_names)}


UPGRADES: dict[int, Callable[[Any], dict[str, Any]]] = {DELETE_TOPICS: _delete_topics}
