"""Errors of `kafka-consumer-groups`, printed on stdout with Kafka's text."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.cli.tool_errors import exception_text

if TYPE_CHECKING:
    from barnabas.client.errors import BrokerError


class CommandFailed(Exception):
    """The command failed. The message follows Kafka's own text."""


@contextmanager
def failing_as(describe: "Callable[[BrokerError], str]") -> Iterator[None]:
    """Turns a BrokerError of the block into CommandFailed with the text of Kafka's tool."""
    from barnabas.client.errors import BrokerError

    try:
        yield
    except BrokerError as error:
        raise CommandFailed(describe(error)) from error


def in_execution(error: "BrokerError") -> str:
    """The text of an ExecutionException, which Java's futures raise."""
    return f"java.util.concurrent.ExecutionException: {exception_text(error)}"


def print_error(message: str) -> None:
    print(f"\nError: {message}")
