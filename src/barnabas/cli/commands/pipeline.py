"""`barnabas pipeline`: runs pipelines on Spark, or copies them.

Spark is loaded only to run a pipeline.
"""

import re
import shutil
from pathlib import Path

import click

from barnabas.cli.front import json_option
from barnabas.cli.tool_errors import ToolError
from barnabas.cli.view import Column, Table, View

_INSTALL = "pip install 'barnabas[spark]'"
_FLAGS = {"ignore_unknown_options": True, "help_option_names": []}
"""Arguments after the name belong to the pipeline, also `--help`."""


@click.group()
def pipeline() -> None:
    """Run pipelines on Spark, or copy them."""


@pipeline.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the pipelines."""
    from barnabas.pipelines.catalog import PIPELINES

    columns = [Column("NAME", "name", style="bold"), Column("WHAT IT DOES", "summary")]
    View(as_json=as_json).table(Table(columns, [[each.name, each.summary] for each in PIPELINES]))


def _names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from barnabas.pipelines.catalog import PIPELINES

    return [each.name for each in PIPELINES if each.name.startswith(incomplete)]


_NAME = click.argument("name", shell_complete=_names)


@pipeline.command(context_settings=_FLAGS)
@_NAME
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def run(name: str, flags: tuple[str, ...]) -> int:
    """Run the pipeline NAME. Arguments after the name belong to the pipeline: see `run NAME --help`."""
    if name in ("--help", "-h"):
        context = click.get_current_context()
        click.echo(context.get_help())
        return 0
    package = _module(name)
    _check_spark()
    from barnabas.pipelines.catalog import find

    try:
        return find(name).main()(list(flags))
    except ImportError as error:
        raise ToolError(f"{package} needs a package that is missing ({error}): {_INSTALL}") from error


@pipeline.command()
@click.argument("table")
@click.option(
    "--having", metavar="TOPIC:PARTITION:OFFSET", help="The first version with this offset instead."
)
@click.option("--storage-options", default="", help="Options of an object store, KEY=VALUE with commas.")
@json_option
def offsets(table: str, having: str | None, storage_options: str, as_json: bool) -> None:
    """Show which offsets TABLE has: per partition, the first one that is not in it."""
    try:
        from barnabas.pipelines.common.table_offsets import BadTable, offsets_in, version_having
    except ImportError as error:
        raise ToolError(f"a table needs a package that is missing ({error}): {_INSTALL}") from error
    view = View(as_json=as_json)
    try:
        if having is not None:
            version = version_having(table, having, storage_options)
            view.done(f"Version {version} is the first with {having}", version=version)
            return
        columns = [
            Column("TOPIC", "topic", style="bold"),
            Column("PARTITION", "partition", is_number=True),
            Column("NEXT OFFSET", "next_offset", is_number=True),
        ]
        view.table(Table(columns, offsets_in(table, storage_options)))
    except BadTable as error:
        raise ToolError(str(error)) from None


@pipeline.command()
@_NAME
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def copy(name: str, directory: Path) -> None:
    """Copy the pipeline NAME to DIRECTORY, to change it there."""
    package = _module(name)
    if not directory.name.isidentifier():
        raise ToolError(f"{directory.name!r} cannot be imported: choose a name of letters, digits and _")
    if directory.exists():
        raise ToolError(f"{directory} already exists")
    copied = copy_package(package, directory)
    view = View()
    view.done(f"Copied {name} to {directory}", files=copied)
    where = f"cd {directory.parent} && " if directory.parent != Path() else ""
    view.note(f"Run it with: {where}python -m {directory.name}")


def copy_package(package: str, directory: Path) -> list[str]:
    """Makes the copy a package: its modules import each other by the new name."""
    import barnabas.pipelines

    source = Path(barnabas.pipelines.__file__).parent / package.rpartition(".")[2]
    shutil.copytree(source, directory, ignore=shutil.ignore_patterns("__pycache__"))
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    for path in files:
        if path.suffix in (".py", ".md"):
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(rf"\b{re.escape(package)}\b", directory.name, text), encoding="utf-8")
    return [str(path.relative_to(directory)) for path in files]


def _module(name: str) -> str:
    from barnabas.pipelines.catalog import find

    try:
        return find(name).module
    except KeyError as error:
        raise ToolError(str(error.args[0])) from None


def _check_spark() -> None:
    """Raises ToolError if Spark or Java is missing, instead of a traceback from Spark."""
    import importlib.util
    import os

    if importlib.util.find_spec("pyspark") is None:
        raise ToolError(f"Spark is not installed: {_INSTALL}")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home, "bin")) if home else None) is None:
        where = f"not in JAVA_HOME ({home})" if home else "not on the PATH"
        raise ToolError(f"Spark needs Java 17 or newer, and it is {where}")
