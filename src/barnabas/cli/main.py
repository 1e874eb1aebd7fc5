"""The command `barnabas`: arguments in, exit status out.

Nothing of the broker is imported here: a subcommand imports what it runs, so that `--help` answers at once.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="barnabas", description="Kafka, rebuilt in Python.")
    parser.add_argument("--version", action="version", version=f"barnabas {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="", required=True)

    serve = commands.add_parser(
        "serve",
        help="start a broker",
        description="Start a broker and run it until Ctrl-C or SIGTERM. Without a file it listens on "
        "127.0.0.1:9092 and keeps its data in data/kafka-logs under the current directory.",
    )
    serve.add_argument("properties", nargs="?", type=Path, metavar="server.properties")
    _add_override(serve)
    serve.add_argument("--quiet", action="store_true", help="no greeting; log warnings and errors only")
    serve.set_defaults(run=_serve)

    adopt = commands.add_parser(
        "adopt",
        help="register the topics of an existing log directory",
        description="Register in the metadata store every topic found in a log directory, for example a copy "
        "of one that Apache Kafka wrote. The broker must not be running.",
    )
    adopt.add_argument("log_dir", type=Path, metavar="log-dir")
    adopt.add_argument("--config", type=Path, metavar="server.properties", help="the broker's configuration")
    _add_override(adopt)
    adopt.set_defaults(run=_adopt)

    version = commands.add_parser("version", help="print the version")
    version.set_defaults(run=_version)
    return parser


def _add_override(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="key=value",
        help="set a configuration key, over what the file says (repeatable)",
    )


def _serve(options: argparse.Namespace) -> int:
    from barnabas.cli.serve import serve

    return serve(options.properties, options.override, quiet=options.quiet)


def _adopt(options: argparse.Namespace) -> int:
    from barnabas.cli.adopt import adopt

    return adopt(options.log_dir, options.config, options.override)


def _version(options: argparse.Namespace) -> int:
    print(f"barnabas {__version__} (Python {sys.version.split()[0]})")
    return 0
