"""A broker in a child process, the child's side. `barnabas.testing.process` describes the protocol."""

import json
import logging
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from barnabas.base.light_kio import import_kio_lightly

if TYPE_CHECKING:
    from barnabas.broker import Broker


def main() -> int:
    properties: dict[str, str] = json.loads(sys.stdin.buffer.readline())
    import_kio_lightly()
    from barnabas import broker
    from barnabas.base.config.broker_config import BrokerConfig
    from barnabas.base.errors import KafkaError
    from barnabas.base.loop_holds import LoopHolds

    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    try:
        holds = LoopHolds(time.thread_time)
        broker.serve(BrokerConfig.from_properties(properties), on_ready=_ready, holds=holds)
    except (KafkaError, OSError) as error:
        _answer(f"failed {error}")
        return 1
    return 0


def _ready(running: "Broker") -> None:
    # Not earlier: the loop has no signal handler before, and the end of the input would be lost.
    threading.Thread(target=_follow_input, args=(running,), name="lifeline", daemon=True).start()
    _answer(f"ready {running.port}")


def _follow_input(running: "Broker") -> None:
    """A byte of input requests a line with the holds of the event loop. The end of input stops the broker."""
    while os.read(0, 1):
        _answer(json.dumps(running.holds.summary()))
    os.kill(os.getpid(), signal.SIGTERM)


def _answer(line: str) -> None:
    sys.stdout.buffer.write(" ".join(line.split()).encode() + b"\n")
    sys.stdout.buffer.flush()
