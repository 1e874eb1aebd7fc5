"""The few lines a broker greets with: where it listens, where its data is, how to talk to it.

Every command of it works when typed in the directory in which the broker was started.
"""

from barnabas import __version__
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.cli.installed_program import command_of, python_command

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})
_WITHOUT_ASKING = frozenset({"localhost:9092", "127.0.0.1:9092"})
"""Where the tools look when nobody tells them."""
_TOPIC = "greetings"


def banner(config: BrokerConfig, port: int, seconds: float) -> str:
    """The greeting. `port` is the one that was bound, for a listener that asked for any (port 0)."""
    addresses = [_address(listener.host, listener.port or port) for listener in config.listeners]
    bootstrap = addresses[0]
    directories = ", ".join(str(directory) for directory in config.log_dirs)
    send = (
        f"{python_command()} -c 'from confluent_kafka import Producer; "
        f'p = Producer({{"bootstrap.servers": "{bootstrap}"}}); p.produce("{_TOPIC}", b"hello"); p.flush()\''
    )
    where = "" if bootstrap in _WITHOUT_ASKING else f" -b {bootstrap}"
    barnabas = command_of("barnabas") or f"{python_command()} -m barnabas"
    stop = command_of("kafka-server-stop")
    rows = [
        ("Listens on", ", ".join(addresses)),
        ("Data in", directories),
        ("Send", f"echo hello | {barnabas} produce {_TOPIC}{where}"),
        ("Read", f"{barnabas} consume {_TOPIC}{where}"),
        ("From Python", send),
        ("Stop", "Ctrl-C" if stop is None else f"Ctrl-C, or {stop}"),
    ]
    indent = "\n" + " " * 15
    lines = [f"Barnabas {__version__} is ready after {seconds:.2f} s."]
    lines += [f"  {label + ':':<13}" + text.replace("\n", indent) for label, text in rows]
    return "\n".join(lines)


def _address(host: str, port: int) -> str:
    shown = "localhost" if host in _EVERYWHERE else host
    return f"[{shown}]:{port}" if ":" in shown else f"{shown}:{port}"
