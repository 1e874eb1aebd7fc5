"""`kafka-server-stop [--process-role=ROLE] [--node-id=ID]`: sends SIGTERM to brokers of this user.

Like Kafka's script it does not wait, and prints `No kafka server to stop` with status 1 if no broker runs.
Every process here has both of Kafka's roles, so `--process-role` selects all of them. A configuration file as
argument is ignored, as by Kafka's script.
"""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from barnabas.cli.running_brokers import running_brokers

USAGE = "USAGE: kafka-server-stop [--process-role=broker|controller] [--node-id=ID]"


def main(arguments: Sequence[str] | None = None) -> int:
    node_id: int | None = None
    for word in sys.argv[1:] if arguments is None else arguments:
        name, _, value = word.partition("=")
        if name == "--node-id" and value.isdecimal():
            node_id = int(value)
        elif word.startswith("-") and (name != "--process-role" or value not in ("broker", "controller")):
            print(USAGE, file=sys.stderr)
            return 1
    chosen = [broker for broker in running_brokers() if node_id is None or broker.node_id == node_id]
    if not chosen:
        suffix = "" if node_id is None else f" with node id {node_id}"
        print(f"No kafka server to stop{suffix}")
        return 1
    for broker in chosen:
        with suppress(ProcessLookupError):  # the broker stopped meanwhile
            os.kill(broker.pid, signal.SIGTERM)
    return 0
