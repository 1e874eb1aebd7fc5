"""`barnabas adopt`: its arguments. The work is in `cli.adopt`."""

from pathlib import Path

import click

from barnabas.cli.commands.serve import FILE, OVERRIDE


@click.command()
@click.argument("log_dir", type=FILE, metavar="LOG-DIR")
@click.option("--config", type=FILE, metavar="server.properties", help="The broker's configuration.")
@OVERRIDE
def adopt(log_dir: Path, config: Path | None, override: tuple[str, ...]) -> int:
    """Register in the metadata store every topic found in LOG-DIR.

    For example a copy of a directory that Apache Kafka wrote. The broker must not be running.
    """
    from barnabas.cli.adopt import adopt as run

    return run(log_dir, config, override)
