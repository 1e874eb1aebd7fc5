from barnabas.client.admin.configs import ConfigEntry
from barnabas.client.admin.topics import PartitionDescription, TopicDescription
from barnabas.pipelines.mirror.groups import GroupRule, forward
from barnabas.pipelines.mirror.target_topics import configs_of


def test_offsets_at_the_target_only_move_forward() -> None:
    wanted = {("a", 0): 10, ("a", 1): 5, ("b", 0): 7}
    known = {("a", 0): 9, ("a", 1): 5, ("c", 0): 1}
    assert forward(wanted, known) == {("a", 0): 10, ("b", 0): 7}


def test_groups_of_queries_are_left_alone() -> None:
    rule = GroupRule(".*", "")
    assert rule.covers("billing")
    assert not rule.covers("spark-kafka-source-17")
    assert not GroupRule("bill", "").covers("billing")


def test_a_copied_topic_keeps_its_settings_and_the_times_of_records() -> None:
    def entry(name: str, value: str, source: str = "DYNAMIC_TOPIC_CONFIG") -> ConfigEntry:
        return ConfigEntry(name, value, source, is_sensitive=False, is_read_only=False, synonyms=())

    partition = PartitionDescription(0, 1, 0, (1, 2, 3), (1, 2, 3), None, None, ())
    configs = (
        entry("cleanup.policy", "compact"),
        entry("message.timestamp.type", "LogAppendTime"),
        entry("min.insync.replicas", "2"),
        entry("retention.ms", "1000", "STATIC_BROKER_CONFIG"),
    )
    topic = TopicDescription("t", None, False, (partition,), configs)
    assert configs_of(topic, 1) == {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
    assert configs_of(topic, 3)["min.insync.replicas"] == "2"
