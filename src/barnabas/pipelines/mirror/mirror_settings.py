"""Settings of a mirror."""

from dataclasses import dataclass

from barnabas.pipelines.common.settings import Settings, setting

NAME = "mirror"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings(Settings):
    target: str = setting("", "Brokers of the target; the source is --bootstrap-server.")
    topics: str = setting("", "Topics to mirror, with commas.")
    topics_pattern: str = setting("", "Or a pattern (a regular expression); new topics are found too.")
    prefix: str = setting("", "Before the names of the target's topics.")
    groups: str = setting(".*", "Groups whose offsets are translated (a regular expression; '' for none).")
    groups_interval: float = setting(10.0, "Seconds between two translations.")
    offsets_topic: str = setting("mirror-offsets", "Where the target keeps what is known of offsets.")
    copies_topic: str = setting(
        "mirror-topics", "Where a cluster keeps which topics are copies; of all mirrors."
    )
    dead_letters_topic: str = setting(
        "mirror.dead-letters", "Where the target has letters of what is put aside."
    )
    too_large: str = setting(
        "aside", "What to do with a record that the target does not take: aside, or fail."
    )
    compression: str = setting("none", "Codec of the copies; batches with large records have zstd.")
    query: str = setting(NAME, "The name of the query: one checkpoint each, for mirrors beside each other.")

    @property
    def own_topics(self) -> set[str]:
        """Topics of mirrors themselves, which no mirror copies."""
        return {self.offsets_topic, self.copies_topic, self.dead_letters_topic}
