"""The address of Spark: an invalid one is reported at once, before a JVM starts."""

import socket

import pytest

from barnabas.pipelines.common.session import open_session
from barnabas.pipelines.common.settings import BadSetting, Settings


@pytest.mark.parametrize("remote", ["localhost:15002", "http://localhost:1", "sc://", "sc://localhost:x"])
def test_a_remote_that_is_no_address_is_refused(remote: str) -> None:
    with pytest.raises(BadSetting, match="--remote"):
        open_session(Settings(remote=remote), "test")


def test_a_server_that_does_not_answer_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(OSError, match=f"no Spark Connect server answers at 127.0.0.1:{port}"):
        open_session(Settings(remote=f"sc://127.0.0.1:{port}/;user_id=x"), "test")


def test_a_master_that_spark_does_not_know_is_refused() -> None:
    with pytest.raises(BadSetting, match="--master mesos"):
        open_session(Settings(master="mesos://host:5050"), "test")
