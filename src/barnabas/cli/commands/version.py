"""`barnabas version`."""

import sys

import click

from barnabas import __version__
from barnabas.cli.front import json_option
from barnabas.cli.view import View


@click.command()
@json_option
def version(as_json: bool) -> None:
    """Print the version."""
    python = sys.version.split()[0]
    if as_json:
        View(as_json=True).value({"barnabas": __version__, "python": python})
    else:
        click.echo(f"barnabas {__version__} (Python {python})")
