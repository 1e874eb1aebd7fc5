"""`kafka-server-start [-daemon] server.properties [--override property=value]*`.

Accepts the options of Kafka's script, also `-name NAME` and `-loggc`, which are for a JVM and ignored.
In the background the output goes to `$LOG_DIR/kafkaServer.out` (default `logs/`), as with Kafka. Unlike
Kafka's script, this one returns when the broker is ready, and with status 1 if the start fails.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from barnabas.cli.serve import READY_VARIABLE, serve

USAGE = "USAGE: {program} [-daemon] server.properties [--override property=value]*"


class _UsageError(Exception):
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        daemon, properties, overrides = _parse(given)
    except _UsageError as error:
        if str(error):
            print(error, file=sys.stderr)
        print(USAGE.format(program=Path(sys.argv[0]).name or "kafka-server-start"), file=sys.stderr)
        return 1
    try:
        return _start_daemon(properties, overrides) if daemon else serve(properties, overrides)
    except KeyboardInterrupt:
        return 130


def _parse(words: list[str]) -> tuple[bool, Path, list[str]]:
    daemon = False
    properties: Path | None = None
    overrides: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-daemon":
            daemon = True
        elif word == "-loggc":
            continue
        elif word in ("-name", "--override"):
            value = next(rest, None)
            if value is None:
                raise _UsageError(f"{word} needs a value")
            if word == "--override":
                overrides.append(value)
        elif word.startswith("--override="):
            overrides.append(word.removeprefix("--override="))
        elif word in ("-h", "--help"):
            raise _UsageError
        elif word.startswith("-") or properties is not None:
            raise _UsageError(f"Found non argument parameters: {word}")
        else:
            properties = Path(word)
    if properties is None:
        raise _UsageError
    return daemon, properties, overrides


def _start_daemon(properties: Path, overrides: list[str]) -> int:
    output = Path(os.environ.get("LOG_DIR", "logs"), "kafkaServer.out")
    output.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "barnabas", "serve", str(properties)]
    for override in overrides:
        command += ["--override", override]
    reader, writer = os.pipe()
    try:
        with output.open("wb") as stream:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[writer],
                env={**os.environ, READY_VARIABLE: str(writer)},
            )
    finally:
        os.close(writer)
    with open(reader, "rb") as pipe:
        if pipe.readline():
            print(f"Started in the background (pid {process.pid}); its log is {output}.")
            process.returncode = 0  # the child outlives this command on purpose: no ResourceWarning
            return 0
    process.wait()
    sys.stderr.write(output.read_text(errors="replace"))
    return process.returncode or 1
