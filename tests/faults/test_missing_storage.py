"""A disk that is not mounted: the broker does not start, says why in one line, and starts when it may."""

from pathlib import Path

from tests.faults.conftest import Serve
from tests.faults.test_crash import create_topic
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce


def test_start_without_one_of_the_directories_is_one_line_and_a_status(serve: Serve, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    broker = serve(log_dirs=[first, second]).start()
    for topic in ("a", "b"):
        create_topic(broker, topic, {})
        with RawClient(broker.port) as client:
            assert produce(client, topic, batch(b"x")).base_offset == 0
    broker.stop()
    second.rename(tmp_path / "away")
    second.mkdir()
    broker.forget_lines()
    broker.spawn()
    assert not broker.becomes_ready()
    assert broker.wait() == 1
    broker.assert_no_traceback()
    assert [line for line in broker.lines if line.startswith("barnabas: ")] == broker.lines[-1:]
    assert f"log directory {second} " in broker.lines[-1]
    assert "--accept-data-loss log-directories" in broker.lines[-1]
    broker.config["barnabas.accept.data.loss"] = "log-directories"
    broker.start()
    with RawClient(broker.port) as client:
        assert sorted(produce(client, topic, batch(b"y")).base_offset for topic in ("a", "b")) == [0, 1]
    assert any("Continuing, because" in line for line in broker.warnings())
