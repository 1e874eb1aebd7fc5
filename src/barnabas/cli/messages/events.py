"""Events of the verifiable tools: one JSON object a line, its time and name first."""

import json
import sys
import time


def print_event(name: str, **fields: object) -> None:
    event = {"timestamp": int(time.time() * 1000), "name": name, **fields}
    sys.stdout.write(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n")
    sys.stdout.flush()
