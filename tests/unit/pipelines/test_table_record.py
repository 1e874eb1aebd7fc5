from barnabas.pipelines.common.table_record import Backfilled, Change, TableRecord

RANGE = Backfilled("id-1", 0, 100, 200)


def test_a_record_survives_json() -> None:
    record = TableRecord().after(
        Change({"orders": {"0": 7}}, {"orders": "id-1"}, (RANGE,), 1000),
        owner="o", size=400, writer="w", batch_id=3,
    )  # fmt: skip
    assert TableRecord.of_json(record.to_json()) == record
    assert (record.sequence, record.owner, record.writers, record.sizes) == (0, "o", {"w": 3}, ((1000, 400),))


def test_the_plan_is_that_of_the_last_batch() -> None:
    record = TableRecord().after(Change(plan="a"), owner="o", size=0, writer="w", batch_id=4)
    assert record.is_stale("w", 3, "")
    assert record.is_stale("w", 4, "b")
    assert not any(record.is_stale("w", *each) for each in ((4, "a"), (4, ""), (5, "b")))
    assert not record.is_stale("v", 0, "b")
    assert record.after(Change(), owner="o", size=0).plans == {"w": "a"}
    unknown = record.after(Change(), owner="o", size=0, writer="w", batch_id=5)
    assert not unknown.is_stale("w", 5, "b")


def test_ranges_that_the_stream_has_passed_are_dropped() -> None:
    record = TableRecord().after(Change(topic_ids={"orders": "id-1"}, backfilled=(RANGE,)), owner="", size=0)
    inside = record.after(Change({"orders": {"0": 150}}), owner="", size=0, writer="w", batch_id=0)
    assert inside.backfilled == (RANGE,)
    beyond = inside.after(Change({"orders": {"0": 200}}), owner="", size=0, writer="w", batch_id=1)
    assert beyond.backfilled == ()


def test_ranges_and_offsets_end_with_their_topic() -> None:
    """The topic was deleted and created anew: its first records are others, and have to be loaded."""
    change = Change({"orders": {"0": 90}}, {"orders": "id-1"}, (RANGE,))
    record = TableRecord().after(change, owner="", size=0)
    assert record.of_topics({"orders": "id-1"}) == record
    anew = record.of_topics({"orders": "id-2"})
    assert (anew.backfilled, anew.offsets, anew.topic_ids) == ((), {}, {"orders": "id-2"})


def test_a_broker_without_topic_ids_keeps_ranges() -> None:
    record = TableRecord().after(Change(topic_ids={"orders": "id-1"}, backfilled=(RANGE,)), owner="", size=0)
    assert record.of_topics({"orders": ""}).backfilled == (RANGE,)
