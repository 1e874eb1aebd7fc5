"""The lines that a broker prints when it is ready: listeners, log directories, example commands.

Every printed command works in the directory in which the broker was started.
"""

from barnabas import __version__
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.cli.installed_program import command_of, python_command

_ANY_INTERFACE = frozenset({"", "0.0.0.0", "::"})
_DEFAULT_BOOTSTRAP = frozenset({"localhost:9092", "127.0.0.1:9092"})
"""Bootstrap servers that the tools use by default."""
_TOPIC = "greetings"


def banner(config: BrokerConfig, port: int, seconds: float) -> str:
    """The text. `port` is the bound port, for a listener with port 0."""
    addresses = [_address(listener.host, listener.port or port) for listener in config.listeners]
    bootstrap = addresses[0]
    directories = ", ".join(str(directory) for directory in config.log_dirs)
    send = (
        f"{python_command()} -c 'from confluent_kafka import Producer; "
        f'p = Producer({{"bootstrap.servers": "{bootstrap}"}}); p.produce("{_TOPIC}", b"hello"); p.flush()\''
    )
    where = "" if bootstrap in _DEFAULT_BOOTSTRAP else f" -b {bootstrap}"
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
    shown = "localhost" if host in _ANY_INTERFACE else host
    return f"[{shown}]:{port}" if ":" in shown else f"{shown}:{port}"
