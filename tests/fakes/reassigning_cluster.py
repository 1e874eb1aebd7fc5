"""Three brokers without sockets that take reassignments, elections and settings, and finish on demand."""

from collections.abc import Mapping, Sequence

from tests.fakes.fake_cluster import FakeCluster, Fields, topics_of

Partition = tuple[str, int]
NO_REASSIGNMENT_IN_PROGRESS = 85


class ReassigningCluster(FakeCluster):
    def __init__(
        self, replicas: Mapping[Partition, tuple[int, ...]], racks: Sequence[str | None] = (None, None, None)
    ) -> None:
        self.replicas: dict[Partition, tuple[int, ...]] = dict(replicas)
        self.targets: dict[Partition, tuple[int, ...]] = {}
        """What is being moved."""
        self.dirs: dict[tuple[str, int, int], str] = {}
        self.future_dirs: dict[tuple[str, int, int], str] = {}
        self.sizes: dict[tuple[str, int, int], int] = {}
        self.refused: dict[Partition, tuple[int, str]] = {}
        super().__init__(
            dict(enumerate(racks, start=1)),
            {
                "metadata": lambda to, fields: topics_of(self.replicas)(to, fields),
                "list_partition_reassignments": self._list,
                "alter_partition_reassignments": self._alter,
                "describe_log_dirs": self._describe_dirs,
                "alter_replica_log_dirs": self._alter_dirs,
                "incremental_alter_configs": lambda to, fields: {},
            },
        )

    def finish(self) -> None:
        """All moves come to their end."""
        self.replicas.update(self.targets)
        self.targets.clear()
        self.dirs.update(self.future_dirs)
        self.future_dirs.clear()

    def altered(self) -> list[tuple[str, str, str | None]]:
        """Every setting that was sent: resource, name, value (None where it was deleted)."""
        return [
            (resource["resource_name"], each["name"], each["value"])
            for sent in self.requests
            if sent.api == "incremental_alter_configs"
            for resource in sent.fields["resources"]
            for each in resource["configs"]
        ]

    def _list(self, to: int | None, fields: Fields) -> Fields:
        requested = fields["topics"]
        wanted = None
        if requested is not None:
            wanted = {(topic["name"], index) for topic in requested for index in topic["partition_indexes"]}
        topics = []
        for (topic, index), target in self.targets.items():
            if wanted is not None and (topic, index) not in wanted:
                continue
            old = self.replicas[topic, index]
            partition = {
                "partition_index": index,
                "replicas": [*old, *(each for each in target if each not in old)],
                "adding_replicas": [each for each in target if each not in old],
                "removing_replicas": [each for each in old if each not in target],
            }
            topics.append({"name": topic, "partitions": [partition]})
        return {"topics": topics}

    def _alter(self, to: int | None, fields: Fields) -> Fields:
        responses = []
        for topic in fields["topics"]:
            results = []
            for each in topic["partitions"]:
                topic_partition = topic["name"], each["partition_index"]
                code, message = self.refused.get(topic_partition, (0, None))
                if code == 0 and each["replicas"] is None:
                    self.targets.pop(topic_partition)
                elif code == 0 and tuple(each["replicas"]) != self.replicas[topic_partition]:
                    self.targets[topic_partition] = tuple(each["replicas"])
                results.append(
                    {"partition_index": topic_partition[1], "error_code": code, "error_message": message}
                )
            responses.append({"name": topic["name"], "partitions": results})
        return {"responses": responses}

    def _describe_dirs(self, to: int | None, fields: Fields) -> Fields:
        assert to is not None
        found: dict[str, list[Fields]] = {"/disk1": [], "/disk2": []}
        for topic in fields["topics"]:
            for index in topic["partitions"]:
                key = topic["topic"], index, to
                copy = {"partition_index": index, "partition_size": self.sizes.get(key, 0), "offset_lag": 0}
                known = {"name": topic["topic"], "partitions": [{**copy, "is_future_key": False}]}
                found[self.dirs.get(key, "/disk1")].append(known)
                if key in self.future_dirs:
                    future = {"name": topic["topic"], "partitions": [{**copy, "is_future_key": True}]}
                    found[self.future_dirs[key]].append(future)
        return {"results": [{"log_dir": path, "topics": topics} for path, topics in found.items()]}

    def _alter_dirs(self, to: int | None, fields: Fields) -> Fields:
        assert to is not None
        results = []
        for directory in fields["dirs"]:
            for topic in directory["topics"]:
                for index in topic["partitions"]:
                    key = topic["name"], index, to
                    if directory["path"] == self.dirs.get(key, "/disk1"):
                        self.future_dirs.pop(key, None)
                    else:
                        self.future_dirs[key] = directory["path"]
                    partition = {"partition_index": index, "error_code": 0}
                    results.append({"topic_name": topic["name"], "partitions": [partition]})
        return {"results": results}
