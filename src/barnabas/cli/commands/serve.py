"""`barnabas serve`: its arguments. The work is in `cli.serve`."""

from pathlib import Path

import click

FILE = click.Path(path_type=Path)
OVERRIDE = click.option(
    "--override",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a configuration key; overrides the file (repeatable).",
)


@click.command()
@click.argument("properties", required=False, type=FILE, metavar="[server.properties]")
@OVERRIDE
@click.option(
    "--accept-data-loss",
    multiple=True,
    type=click.Choice(["metadata-store", "log-directories", "partitions"]),
    help="Start although these are missing, and forget what they held (repeatable).",
)
@click.option("--quiet", is_flag=True, help="Print no banner; log warnings and errors only.")
def serve(
    properties: Path | None, override: tuple[str, ...], accept_data_loss: tuple[str, ...], quiet: bool
) -> int:
    """Start a broker and run it until Ctrl-C or SIGTERM.

    Without a file it listens on 127.0.0.1:9092 and keeps its data in data/kafka-logs under the current
    directory.
    """
    from barnabas.cli.serve import serve as run

    if accept_data_loss:
        override = (*override, f"barnabas.accept.data.loss={','.join(accept_data_loss)}")
    return run(properties, override, quiet=quiet)
