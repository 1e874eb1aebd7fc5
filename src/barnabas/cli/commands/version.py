"""`barnabas version`."""

import sys

import click

from barnabas import __version__


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"barnabas {__version__} (Python {sys.version.split()[0]})")
