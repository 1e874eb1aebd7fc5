"""A broker in a child process, the child's side. `barnabas.testing.process` describes the protocol."""

import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.base.light_kio import import_kio_lightly

if TYPE_CHECKING:
    from barnabas.broker import Broker
    from barnabas.testing.control import Control


def main() -> int:
    lines = _lines()
    properties: dict[str, str] = json.loads(next(lines))
    import_kio_lightly()
    from barnabas import broker
    from barnabas.base.config.broker_config import BrokerConfig
    from barnabas.base.errors import KafkaError
    from barnabas.base.loop_holds import LoopHolds
    from barnabas.testing.control import Control

    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )

    def on_ready(running: "Broker") -> None:
        control.attach(running)
        # Not earlier: the loop has no signal handler before, and the end of the input would be lost.
        threading.Thread(target=_follow, args=(lines, control), name="lifeline", daemon=True).start()
        _answer("ready " + str(running.port))

    try:
        config = BrokerConfig.from_properties(properties)
        control = Control(config.broker_id, LoopHolds(time.thread_time))
        broker.serve(config, on_ready=on_ready, environment=control.environment(), stages=control.stages)
    except (KafkaError, OSError) as error:
        _answer("failed " + " ".join(str(error).split()))
        return 1
    return 0


def _follow(lines: Iterator[bytes], control: "Control") -> None:
    """Do what each line commands. The end of input stops the broker."""
    for line in lines:
        try:
            answer = {"value": control.do(**json.loads(line))}
        except Exception as error:  # noqa: BLE001  the parent raises it
            answer = {"error": f"{type(error).__name__}: {error}"}
        _answer(json.dumps(answer))
    os.kill(os.getpid(), signal.SIGTERM)


def _lines() -> Iterator[bytes]:
    """The lines of the input. Not by `sys.stdin`: at exit Python would wait for the thread that reads it."""
    received = b""
    while part := os.read(0, 65536):
        *lines, received = (received + part).split(b"\n")
        yield from lines


def _answer(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()
