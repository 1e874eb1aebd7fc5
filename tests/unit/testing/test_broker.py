import asyncio
import gc
from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas.testing import Broker, BrokerStartError


class FakeHost:
    """Records its calls. Like a real host it chooses a port if the requested port is 0."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.properties: list[Mapping[str, str]] = []
        self.fails: bool = False

    def start(self, properties: Mapping[str, str]) -> int:
        if self.fails:
            raise BrokerStartError("no")
        self.calls.append("start")
        self.properties.append(properties)
        return int(properties["listeners"].rpartition(":")[2]) or 40123

    def stop(self) -> None:
        self.calls.append("stop")

    def kill(self) -> None:
        self.calls.append("kill")

    def pause(self) -> None:
        self.calls.append("pause")

    def resume(self) -> None:
        self.calls.append("resume")

    def command(self, **command: object) -> object:
        assert command == {"verb": "loop_holds"}
        return {"Metadata": [2, 0.03], "job x": [1, 0.5]}


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    fake = FakeHost()
    monkeypatch.setattr(Broker, "_new_host", lambda self, directory: fake)
    return fake


def test_with_block_starts_and_stops_and_removes_the_data(host: FakeHost) -> None:
    with Broker() as running:
        assert running.running
        assert running.bootstrap_servers == "127.0.0.1:40123"
        directory = running.log_dir.parent
        assert directory.is_dir()
    assert host.calls == ["start", "stop"]
    assert not directory.exists()


def test_longest_hold_of_the_event_loop_is_that_of_all_steps(host: FakeHost) -> None:
    with Broker() as running:
        assert running.loop_holds() == {"Metadata": (2, 0.03), "job x": (1, 0.5)}
        assert running.worst_loop_hold == 0.5
    with pytest.raises(RuntimeError, match="not running"):
        running.loop_holds()


def test_async_with_block_does_the_same(host: FakeHost) -> None:
    async def use() -> None:
        async with Broker() as running:
            assert running.port == 40123

    asyncio.run(use())
    assert host.calls == ["start", "stop"]


def test_restart_keeps_port_and_data(host: FakeHost) -> None:
    with Broker() as running:
        running.restart()
        first, second = host.properties
        assert first["listeners"] == "PLAINTEXT://127.0.0.1:0"
        assert second["listeners"] == "PLAINTEXT://127.0.0.1:40123"
        assert first["log.dirs"] == second["log.dirs"] == str(running.log_dir)


def test_killed_broker_can_be_restarted(host: FakeHost) -> None:
    with Broker() as running:
        running.kill()
        assert not running.running
        running.restart()
    assert host.calls == ["start", "kill", "start", "stop"]


def test_given_directory_is_kept(host: FakeHost, tmp_path: Path) -> None:
    with Broker(directory=tmp_path / "data") as running:
        assert running.log_dir == tmp_path / "data" / "kafka-logs"
    assert (tmp_path / "data").is_dir()


def test_configuration_is_over_the_defaults(host: FakeHost, tmp_path: Path) -> None:
    config = {
        "auto.create.topics.enable": False,
        "num.partitions": 3,
        "log.dirs": f"{tmp_path}/a,{tmp_path}/b",
    }
    with Broker(config=config) as running:
        assert running.log_dir == tmp_path / "a"
    properties = host.properties[0]
    assert properties["auto.create.topics.enable"] == "false"
    assert properties["num.partitions"] == "3"


def test_listeners_are_not_for_the_configuration() -> None:
    with pytest.raises(ValueError, match="port="):
        Broker(config={"listeners": "PLAINTEXT://:9092"})


def test_failed_start_leaves_no_directory(
    host: FakeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    host.fails = True
    with pytest.raises(BrokerStartError), Broker():
        pass
    assert list(tmp_path.iterdir()) == []


def test_forgotten_broker_leaves_no_directory(
    host: FakeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Broker().start()
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_stopping_twice_is_no_error(host: FakeHost) -> None:
    running = Broker().start()
    running.stop()
    running.stop()
    running.close()
    running.close()
    assert host.calls == ["start", "stop"]


def test_use_before_the_start_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"start\(\) it"):
        _ = Broker().bootstrap_servers
    with pytest.raises(RuntimeError, match=r"start\(\) it"):
        _ = Broker().log_dir
    with pytest.raises(RuntimeError, match="not running"):
        Broker(port=9092).create_topic("t")


def test_repr_says_where_and_how_it_runs(host: FakeHost) -> None:
    assert repr(Broker(process=True)) == "<Broker no port yet, process, stopped>"
    with Broker() as running:
        assert repr(running) == "<Broker 127.0.0.1:40123, thread, running>"
