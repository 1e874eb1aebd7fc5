"""What all commands of `barnabas` share: connection options, output options, error handling, completion.

`on_cluster` gives a command an open `Cluster` and a `View`. `completes` completes an argument with the names
of topics or groups of the cluster.
"""

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.streams import discard_output, failure_of, open_streams
from barnabas.cli.view import View

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

DEFAULT_BOOTSTRAP = "localhost:9092"
_COMPLETION_TIMEOUT = 1.0
F = TypeVar("F", bound=Callable[..., Any])


def bootstrap_options(command: F) -> F:
    """`--bootstrap-server` and `--command-config`, as keywords `bootstrap_server` and `command_config`."""
    server = click.option(
        "-b",
        "--bootstrap-server",
        envvar="BARNABAS_BOOTSTRAP_SERVER",
        default=DEFAULT_BOOTSTRAP,
        show_default=True,
        metavar="HOST:PORT",
        help="Bootstrap brokers, separated by commas.",
    )
    config = click.option(
        "--command-config", metavar="FILE", type=click.Path(dir_okay=False), help="Properties of the client."
    )
    return server(config(command))


def json_option(command: F) -> F:
    """`--json`, as keyword `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def on_cluster(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """A command whose first arguments are a `Cluster` and a `View`; it has the options for both.

    It returns its exit status; None is 0.
    """

    @bootstrap_options
    @json_option
    @functools.wraps(command)
    def opened(
        *words: Any, bootstrap_server: str, command_config: str | None, as_json: bool, **options: Any
    ) -> int | None:
        with open_cluster(bootstrap_server, command_config) as cluster:
            return command(cluster, View(as_json=as_json), *words, **options)

    return opened


class FrontDoor(click.Group):
    """A group of commands. A closed output pipe ends a command with status 0."""

    def invoke(self, context: click.Context) -> Any:
        try:
            result = super().invoke(context)
            sys.stdout.flush()
        except BrokenPipeError:
            discard_output()
            return 0
        return result


def run(command: click.Command, arguments: list[str] | None = None) -> int:
    """Runs the command. Every error is one line on stderr and an exit status."""
    open_streams()
    try:
        status = _status_of(command, arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # while click itself prints: help, versions
        discard_output()
        return 0
    except OSError as error:
        discard_output()
        print(f"barnabas: {failure_of(error)}", file=sys.stderr)
        return 1


def _status_of(command: click.Command, arguments: list[str] | None) -> int:
    try:
        result = command.main(arguments, prog_name="barnabas", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.Abort:
        return 130
    except click.ClickException as error:
        return _usage(error)
    except SystemExit as end:  # click exits this way after a completion
        return end.code if isinstance(end.code, int) else 1
    except Exception as error:
        if not _is_expected(error):
            raise
        print(f"barnabas: {error}", file=sys.stderr)
        return 1
    return result if isinstance(result, int) else 0


def _is_expected(error: Exception) -> bool:
    """Whether the message of the error is enough. Imports nothing: the class of a raised error is loaded."""
    names = (("barnabas.client.errors", "ClientError"), ("barnabas.cli.tool_errors", "ToolError"))
    return any(
        module in sys.modules and isinstance(error, getattr(sys.modules[module], name))
        for module, name in names
    )


def _usage(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print(error.format_message(), file=sys.stderr)
        return error.exit_code
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f" (see '{error.ctx.command_path} --help')"
    print(f"barnabas: {error.format_message()}{hint}", file=sys.stderr)
    return error.exit_code


def pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """The `callback` of a repeatable option whose values are KEY=VALUE."""
    found = {}
    for value in values:
        key, separator, text = value.partition("=")
        if not separator or not key.strip():
            raise click.BadParameter(f"{value!r} is not KEY=VALUE", context, parameter)
        found[key.strip()] = text.strip()
    return found


def yes_option(command: F) -> F:
    """`--yes`, as keyword `yes`: for `confirm`."""
    return click.option("-y", "--yes", is_flag=True, help="Do not prompt for confirmation.")(command)


def confirm(question: str, *, yes: bool) -> None:
    """Returns if `--yes` is set or the user confirms on a terminal. Raises Declined otherwise."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Standard input is not a terminal: confirm with --yes")
    if not click.confirm(question, err=True):
        raise Declined


class Declined(click.ClickException):
    """The user did not confirm."""

    def __init__(self) -> None:
        super().__init__("Nothing was changed.")


Names = Callable[["Cluster"], list[str]]


def completes(names: Names) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """A `shell_complete` for names of the cluster. Completes nothing if the cluster is unreachable."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        import dataclasses

        server = context.params.get("bootstrap_server") or DEFAULT_BOOTSTRAP
        try:
            with open_cluster(server, context.params.get("command_config")) as cluster:
                cluster.settings = dataclasses.replace(
                    cluster.settings,
                    connect_timeout=_COMPLETION_TIMEOUT,
                    request_timeout=_COMPLETION_TIMEOUT,
                    api_timeout=_COMPLETION_TIMEOUT,
                    patience=0.0,
                )
                return [name for name in names(cluster) if name.startswith(incomplete)]
        except Exception:  # noqa: BLE001  completion must not print a traceback
            return []

    return complete


def topic_names(cluster: "Cluster") -> list[str]:
    from barnabas.client.admin.topics import list_topics

    return [topic.name for topic in list_topics(cluster)]


def group_names(cluster: "Cluster") -> list[str]:
    from barnabas.client.admin.groups import list_groups

    return sorted(group.id for group in list_groups(cluster))
