from benchmarks.group_members import ClassicMember
from benchmarks.scenarios import load_scenarios, rounds_of
from benchmarks.scenarios.base import Settings
from benchmarks.scenarios.commits import CommitRequests, OffsetCommits
from benchmarks.scenarios.offsets_scale import loads, offsets_partition
from kio.schema.offset_commit.v9.request import OffsetCommitRequest
from tests.unit.benchmarks.kio_frames import parse


def test_groups_go_to_the_partition_that_kafka_keeps_them_in() -> None:
    assert offsets_partition("") == 0
    assert offsets_partition("a") == 97 % 50
    assert offsets_partition("ab") == (97 * 31 + 98) % 50
    assert offsets_partition("console-consumer-12345") in range(50)


def test_long_scenarios_have_fewer_rounds() -> None:
    settings = Settings()
    assert rounds_of("small/1c/1p", 5, settings) == 5
    assert rounds_of("compaction/100B", 5, settings) == settings.long_rounds
    assert rounds_of("compaction/latency", 5, settings) == 1


def test_every_scenario_has_a_name_of_its_own_and_quick_ones_exist() -> None:
    names = [scenario.name for scenario in load_scenarios()]
    assert len(names) == len(set(names))
    assert OffsetCommits(1).name in {scenario.name for scenario in load_scenarios(quick=True)}


def test_each_commit_has_new_offsets_for_its_partitions() -> None:
    for count in (1, 10, 200):
        commits = CommitRequests(ClassicMember("g", "t", 300), "t", range(5, 5 + count))
        for offset in (1, 2):
            request: OffsetCommitRequest = parse(OffsetCommitRequest, commits.next_request())
            (topic,) = request.topics
            assert [(p.partition_index, p.committed_offset) for p in topic.partitions] == [
                (partition, offset) for partition in range(5, 5 + count)
            ]


def test_a_load_without_records_is_left_out() -> None:
    assert [load.name for load in loads(Settings())] == ["batches", "singles"]
    assert [load.name for load in loads(Settings.quick())] == ["batches"]
