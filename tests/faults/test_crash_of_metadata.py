"""kill -9 while topics come, go and change: the store and the directories agree afterwards."""

import random
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.faults.conftest import Serve
from tests.faults.reader import bounds
from tests.faults.served import Served
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce

from barnabas.testing.admin import Admin, AdminError

_NAMES = [f"topic-{number}" for number in range(12)]


class Changer:
    """Creates, fills, alters and deletes topics, and knows what was confirmed; None is a change under way."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self._port: int = port
        self._rng: random.Random = rng
        self._is_over: bool = False
        self.topics: dict[str, int | None] = {}
        """Partitions of the topics that exist."""
        self.retention: dict[str, int | None] = {}
        self.changes: int = 0
        self.failure: BaseException | None = None
        self._thread: threading.Thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        self._is_over = True
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            while not self._is_over:
                with suppress(OSError):
                    self._change(self._rng.choice(_NAMES))
                    self.changes += 1
        except BaseException as error:  # noqa: BLE001  raised in finish
            self.failure = error

    def _change(self, name: str) -> None:
        if name not in self.topics:
            self._create(name)
        elif self.topics[name] is None or self.retention.get(name, 1) is None:
            return  # the broker died over it: only the next start knows
        elif self._rng.random() < 0.5:
            self._delete(name)
        else:
            self._alter(name)

    def _create(self, name: str) -> None:
        partitions = self._rng.randint(1, 4)
        self.topics[name] = None
        Admin("127.0.0.1", self._port, 5).create_topic(name, partitions, {"segment.ms": 10_000})
        self.topics[name] = partitions
        with RawClient(self._port) as client:
            answer = produce(client, name, batch(b"of this life"))
            assert (answer.error_code, answer.base_offset) == (0, 0), "a deleted topic came back"

    def _delete(self, name: str) -> None:
        self.topics[name] = None
        with suppress(AdminError):
            Admin("127.0.0.1", self._port, 5).delete_topics([name])
            del self.topics[name]
            self.retention.pop(name, None)

    def _alter(self, name: str) -> None:
        value = self._rng.randint(10**9, 2 * 10**9)
        self.retention[name] = None
        change = {"name": "retention.ms", "config_operation": 0, "value": str(value)}
        resource = {"resource_type": 2, "resource_name": name, "configs": [change]}
        with RawClient(self._port) as client:
            answer = client.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
        assert answer.responses[0].error_code == 0
        self.retention[name] = value


@pytest.mark.parametrize("rounds", [8, pytest.param(100, marks=pytest.mark.soak)])
def test_store_and_directories_agree_after_every_kill(serve: Serve, rounds: int) -> None:
    rng = random.Random(rounds)
    broker = serve({"log.segment.delete.delay.ms": 20, "auto.create.topics.enable": "false"}).start()
    changes = 0
    for _ in range(rounds):
        changer = Changer(broker.port, rng)
        time.sleep(rng.uniform(0.1, 0.4))
        broker.kill()
        changer.finish()
        changes += changer.changes
        broker.start()
        _check(broker, changer)
    assert changes > rounds
    broker.assert_no_traceback()


def _check(broker: Served, changer: Changer) -> None:
    found = _topics(broker)
    for name, partitions in changer.topics.items():
        if partitions is not None:
            assert found[name] == partitions
    assert not [name for name in found if name not in changer.topics]
    assert _partitions_on_disk(broker.log_dir) >= {
        f"{name}-{number}" for name, count in found.items() for number in range(count)
    }
    with RawClient(broker.port) as client:
        for name in found:
            assert bounds(client, name)[1] <= 1
            retention = changer.retention.get(name)
            if retention is not None:
                assert _retention(client, name) == str(retention)
    if found:
        Admin("127.0.0.1", broker.port).delete_topics(list(found))
    strays = [
        name for name in _partitions_on_disk(broker.log_dir) if not name.endswith(("-delete", "-stray"))
    ]
    assert all(any(name in line for line in broker.warnings()) for name in strays), strays


def _topics(broker: Served) -> dict[str, int]:
    with RawClient(broker.port) as client:
        answer = client.call("metadata", 9, topics=None, allow_auto_topic_creation=False,
                             include_cluster_authorized_operations=False,
                             include_topic_authorized_operations=False)  # fmt: skip
    return {topic.name: len(topic.partitions) for topic in answer.topics}


def _retention(client: RawClient, name: str) -> str:
    resource = {"resource_type": 2, "resource_name": name, "configuration_keys": ["retention.ms"]}
    answer = client.call("describe_configs", 4, resources=[resource], include_synonyms=False,
                         include_documentation=False)  # fmt: skip
    value: str = answer.results[0].configs[0].value
    return value


def _partitions_on_disk(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if path.is_dir() and path.name.startswith("topic-")}
