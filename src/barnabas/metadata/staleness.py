"""The parts of the image that are out of date after a change of given paths."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.metadata.image_loading import entity_name


@dataclass(slots=True)
class Stale:
    everything: bool = False
    brokers: bool = False
    controller: bool = False
    topics: dict[str, set[int] | None] = field(default_factory=dict)
    """Partitions whose state has changed, by topic. None for the topic as a whole."""
    topic_configs: set[str] = field(default_factory=set)
    broker_configs: set[str] = field(default_factory=set)
    group_configs: set[str] = field(default_factory=set)

    @classmethod
    def after(cls, changed: Iterable[str]) -> "Stale":
        stale = cls()
        for path in changed:
            stale._add(path)
        return stale

    def _add(self, path: str) -> None:
        parts = path.split("/")
        match parts[1:]:
            case [""] | ["cluster", *_] | ["brokers"] | ["brokers", "topics"] | ["config"]:
                self.everything = True
            case ["config", "topics" | "brokers" | "groups"]:
                self.everything = True
            case ["brokers", "ids", *_] | ["barnabas", "registrations", *_]:
                self.brokers = True
            case ["controller" | "controller_epoch"]:
                self.controller = True
            case ["brokers", "topics", name]:
                self.topics[name] = None
            case ["brokers", "topics", name, "partitions", number, "state"]:
                states = self.topics.setdefault(name, set())
                if states is not None:
                    states.add(int(number))
            case ["config", "topics", element]:
                self.topic_configs.add(entity_name(element))
            case ["config", "brokers", element]:
                self.broker_configs.add(entity_name(element))
            case ["config", "groups", element]:
                self.group_configs.add(entity_name(element))
            case _:
                pass  # A node that is not part of the image: a directory, or another application's node.
