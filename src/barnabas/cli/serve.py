"""`barnabas serve`: loads the configuration, sets up logging, and runs the broker until a signal stops it.

A failed start is one line on stderr and exit status 1, as with Kafka's server.
"""

import errno
import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.base.light_kio import import_kio_lightly

if TYPE_CHECKING:
    from barnabas.base.config.broker_config import BrokerConfig
    from barnabas.broker import Broker

READY_VARIABLE = "BARNABAS_READY_FD"
"""The file descriptor to which a ready broker writes a line; `kafka-server-start -daemon` waits for it."""


def serve(properties: Path | None, overrides: Sequence[str], *, quiet: bool = False) -> int:
    started = time.monotonic()
    import_kio_lightly()
    from barnabas.cli.log_format import log_to_stderr
    from barnabas.cli.settings import SettingsError, complain, load_settings

    try:
        config = load_settings(properties, overrides)
    except SettingsError as error:
        complain(str(error))
        return 1
    log_to_stderr(quiet=quiet)

    def on_ready(broker: "Broker") -> None:
        if not quiet:
            from barnabas.cli.banner import banner

            print(banner(config, broker.port, time.monotonic() - started), flush=True)
        _notify_starter()

    return _run(config, on_ready)


def _run(config: "BrokerConfig", on_ready: Callable[["Broker"], None]) -> int:
    from barnabas import broker
    from barnabas.base.errors import KafkaError
    from barnabas.cli.running_brokers import registered
    from barnabas.cli.settings import complain

    try:
        with registered(config.broker_id):
            broker.serve(config, on_ready=on_ready)
    except OSError as error:
        complain(_explain(error, config))
        return 1
    except KafkaError as error:
        complain(error.message)
        return 1
    except Exception:  # the last handler: logs the traceback once
        logging.getLogger("barnabas").exception("The broker stopped because of an unexpected error")
        return 1
    return 0


def _explain(error: OSError, config: "BrokerConfig") -> str:
    from barnabas.cli.installed_program import command_of

    addresses = ", ".join(f"{listener.host}:{listener.port}" for listener in config.listeners)
    if error.errno == errno.EADDRINUSE:
        stop = command_of("kafka-server-stop") or "Ctrl-C"
        return (
            f"cannot listen on {addresses}: the port is in use. Stop what uses it ({stop}, if it "
            "is a broker of yours) or choose another: --override listeners=PLAINTEXT://127.0.0.1:9093"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"cannot listen on {addresses}: this machine has no such address"
    if error.errno == errno.EACCES and error.filename is None:
        return f"cannot listen on {addresses}: permission denied (ports below 1024 are for root)"
    return f"cannot start: {error}"


def _notify_starter() -> None:
    descriptor = os.environ.pop(READY_VARIABLE, None)
    if descriptor is None:
        return
    with suppress(OSError, ValueError), open(int(descriptor), "wb", buffering=0) as pipe:
        pipe.write(b"ready\n")
