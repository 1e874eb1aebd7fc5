"""How the work of `kafka-consumer-groups` fails: on stdout, in Kafka's words."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.cli.exception_names import exception_text

if TYPE_CHECKING:
    from barnabas.client.errors import BrokerError


class CommandFailed(Exception):
    """The command comes to nothing; the message is what follows Kafka's words for it."""


@contextmanager
def failing_as(tell: "Callable[[BrokerError], str]") -> Iterator[None]:
    """A broker's error inside ends the command, told as Kafka's tool tells it at that place."""
    from barnabas.client.errors import BrokerError

    try:
        yield
    except BrokerError as error:
        raise CommandFailed(tell(error)) from error


def in_execution(error: "BrokerError") -> str:
    """As the cause of the exception that Java's futures raise."""
    return f"java.util.concurrent.ExecutionException: {exception_text(error)}"


def print_error(message: str) -> None:
    print(f"\nError: {message}")
