"""The command `barnabas`: the one table of its commands.

A command is imported when it is called. So `--help` is fast, and a broker does not load the tables of other
commands.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from barnabas import __version__
from barnabas.cli.front import FrontDoor, run

_COMMANDS: dict[str, tuple[str, str]] = {
    "acl": ("access", "access control lists: list, add, remove"),
    "adopt": ("adopt", "register the topics of an existing log directory"),
    "cluster": ("cluster", "brokers, features, API versions, disks; a cluster on this machine"),
    "completion": ("completion", "what your shell needs to complete these commands"),
    "config": ("config", "settings of topics, brokers, groups, clients and users"),
    "consume": ("consume", "read records"),
    "group": ("group", "consumer groups: list, describe, watch, reset, delete"),
    "log": ("log", "look into the files of a log"),
    "perf": ("perf", "measure a producer or a consumer"),
    "pipeline": ("pipeline", "pipelines on Spark: list, run, copy"),
    "produce": ("produce", "send lines as records"),
    "reassign": ("reassign", "move replicas and elect leaders"),
    "record": ("record", "offsets of partitions, deletion of old records"),
    "serve": ("serve", "start a broker"),
    "topic": ("topic", "list, describe, create, alter, delete"),
    "transaction": ("transaction", "transactions and producers, also the hanging ones"),
    "version": ("version", "print the version"),
}
"""Name to (module of `cli.commands`, one line). The command in the module has the module's name."""


class _Commands(FrontDoor):
    """Lists from the table, loads from the module."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module = _COMMANDS[name][0]
        command: click.Command = getattr(import_module(f"barnabas.cli.commands.{module}"), module)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name][1]) for name in self.list_commands(context)])


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="barnabas")
def barnabas() -> None:
    """Kafka, rebuilt in Python."""


def main(arguments: Sequence[str] | None = None) -> int:
    if os.environ.get("_BARNABAS_COMPLETE") == "bash_complete":
        from barnabas.cli.commands.completion import teach_bash

        teach_bash()
    return run(barnabas, None if arguments is None else list(arguments))


if __name__ == "__main__":
    sys.exit(main())
