"""Memory layout of many committed offsets."""

from uuid import UUID

from barnabas.base.ids import ZERO_UUID
from barnabas.group.offsets.committed_offsets import CommittedOffsets
from barnabas.group.records import CommittedOffset


def _offset(offset: int, topic_id: UUID = ZERO_UUID) -> CommittedOffset:
    return CommittedOffset(offset, -1, "", 0, -1, topic_id)


def test_it_counts_offsets_and_forgets_what_is_empty() -> None:
    offsets = CommittedOffsets()
    offsets.put("g", "t", 0, _offset(1))
    offsets.put("g", "t", 0, _offset(2))
    offsets.put("g", "t", 1, _offset(3))
    assert (len(offsets), list(offsets)) == (2, ["g"])
    assert offsets.get("g", "t", 0) == _offset(2)
    offsets.remove("g", "t", 0)
    offsets.remove("g", "t", 0)
    offsets.remove("g", "other", 0)
    offsets.remove("other", "t", 0)
    assert len(offsets) == 1
    offsets.remove("g", "t", 1)
    assert (len(offsets), "g" in offsets, dict(offsets.of_group("g"))) == (0, False, {})


def test_names_and_ids_that_are_read_again_and_again_are_kept_once() -> None:
    offsets = CommittedOffsets()
    for number in range(3):
        # As a decoder makes them: equal, and each an object of its own.
        topic = bytes([116, 111, 112, 105, 99]).decode()
        offsets.put(f"g{number}", topic, 0, _offset(number, UUID(int=7)))
        offsets.put(f"g{number}", topic, 1, _offset(number, UUID(int=0)))
    names = {id(name) for group in offsets for name in offsets.of_group(group)}
    stored = [offsets.of_group(group)["topic"][0] for group in offsets]
    assert len(names) == 1
    assert len({id(value.topic_id) for value in stored}) == 1
    assert [value.offset for value in stored] == [0, 1, 2]
    assert all(offsets.of_group(group)["topic"][1].topic_id is ZERO_UUID for group in offsets)


def test_a_topic_that_was_created_anew_has_its_new_id() -> None:
    offsets = CommittedOffsets()
    offsets.put("g", "t", 0, _offset(1, UUID(int=7)))
    offsets.put("g", "t", 1, _offset(1, UUID(int=8)))
    assert [value.topic_id.int for value in offsets.of_group("g")["t"].values()] == [7, 8]
