"""A transactional producer in a process of its own, which is killed in the middle of its transaction.

`python -m tests.integration.clients.drivers.transaction_child NAME SERVERS SETTINGS TOPIC VALUE...` (settings
as JSON) sends the values, prints a line when they are in the log, and waits.
"""

import dataclasses
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path

from tests.integration.clients.drivers.transaction_client import TransactionSettings

_ROOT = Path(__file__).parents[4]


def send_and_die(
    name: str, bootstrap_servers: str, settings: TransactionSettings, topic: str, values: Sequence[str]
) -> None:
    """Returns when the records are in the log and the process is dead (kill -9)."""
    command = [sys.executable, "-m", __name__, name, bootstrap_servers]
    command += [json.dumps(dataclasses.asdict(settings)), topic, *values]
    with subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.kill()
    assert line == "sent\n", line


def main() -> None:
    warnings.simplefilter("ignore")
    from tests.integration.clients.drivers.transaction_clients import open_transactional_producer
    from tests.integration.clients.transactions import texts

    name, servers, settings, topic, *values = sys.argv[1:]
    producer = open_transactional_producer(name, servers, TransactionSettings(**json.loads(settings)))
    producer.init()
    producer.begin()
    producer.send(topic, texts(*values))
    print("sent", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
