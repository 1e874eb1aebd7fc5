import itertools
import re

from barnabas.spark.sink_identity import SinkIdentity


def names(sink: SinkIdentity) -> set[str]:
    return {sink.group, *(sink.transactional_id(task) for task in range(12))}


def test_no_two_sinks_share_a_name() -> None:
    sinks = [
        SinkIdentity(prefix, application, topic, is_stream)
        for prefix in ("a", "a-b")
        for application in ("app", "app-1", "b-app", "app-sink", "app-1-sink")
        for topic in (None, "app", "1")
        for is_stream in (True, False)
    ]
    for one, other in itertools.combinations(sinks, 2):
        assert not names(one) & names(other), (one, other)


def test_names_begin_with_the_prefix_and_the_application_and_stay_the_same() -> None:
    sink = SinkIdentity("spark-sink", "q", "orders")
    assert all(re.fullmatch(r"spark-sink-q-[0-9a-f]{12}-(sink|\d+)", name) for name in names(sink))
    # Another name would make the progress of every query unknown.
    assert sink.group == "spark-sink-q-5670a7a0b5a1-sink"
