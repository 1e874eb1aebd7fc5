"""Runs a tool: parses the arguments, prints an error as one line, returns the exit status.

Status 0 is success, 1 any failure, 130 Ctrl-C. A closed output pipe is not a failure. A usage error is
printed with Kafka's text and a reference to `--help`; Kafka prints the whole help.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TextIO

from barnabas import __version__
from barnabas.cli.kafka.options import Given, Options, UsageError
from barnabas.cli.streams import discard_output, failure_of, open_streams
from barnabas.cli.tool_errors import ToolError


def run_tool(
    options: Options,
    work: Callable[[Given], int | None],
    arguments: Sequence[str] | None,
    *,
    prefix: str = "",
    errors_on_stdout: bool = False,
) -> int:
    """`work` takes the parsed options and returns its status (None for 0).

    `prefix` begins the line of an error; some of Kafka's tools print that line on stdout.
    """
    open_streams()
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _run(options, work, words, prefix, sys.stdout if errors_on_stdout else sys.stderr)
    except UsageError as error:
        print(error, file=sys.stderr)
        print(f"Try '{options.program} --help'.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        discard_output()
        return 0
    except OSError as error:
        discard_output()
        print(f"{prefix}{failure_of(error)}", file=sys.stderr)
        return 1


def _run(
    options: Options, work: Callable[[Given], int | None], words: list[str], prefix: str, errors: TextIO
) -> int:
    if not words:
        print(options.help(), file=sys.stderr)
        return 1
    given = options.parse(words)
    if given.has("help"):
        print(options.help(), flush=True)
        return 0
    if given.has("version"):
        print(__version__, flush=True)
        return 0
    from barnabas.client.errors import ClientError

    try:
        status = work(given) or 0
        sys.stdout.flush()
        return status
    except (ClientError, ToolError) as error:
        sys.stdout.flush()
        print(f"{prefix}{error}", file=errors, flush=True)
        return 1
