"""What can go wrong between a tool and a cluster. The message of each is one line for a person.

`BrokerError` is the answer of a broker; everything else means that there was no usable answer.
"""

from kio.schema.errors import ErrorCode

from barnabas.client.error_messages import MESSAGES


class ClientError(Exception):
    """The root: a command-line tool prints it and exits with a non-zero status."""


class Unreachable(ClientError):
    """No broker answers."""


class TimedOut(ClientError):
    """A broker took the request and did not answer in time."""


class Unsupported(ClientError):
    """The broker does not serve this API, or not in a version that can say what was asked."""


class BadSettings(ClientError):
    """An address or a property of the client cannot be used."""


class BadValue(ClientError):
    """A request cannot carry what was asked: a number out of range, a text that is no text."""


class BrokerError(ClientError):
    """A broker's own error: its code, and its message or, where it sent none, the protocol's own."""

    def __init__(self, code: int, message: str | None = None) -> None:
        self.code: ErrorCode | int = error_code(code)
        self.message: str = message or MESSAGES.get(
            code, f"The broker answered with the unknown error {code}."
        )
        super().__init__(self.message)

    @property
    def name(self) -> str:
        """`topic_already_exists`, for example."""
        return self.code.name if isinstance(self.code, ErrorCode) else f"error_{self.code}"

    @property
    def is_retriable(self) -> bool:
        return isinstance(self.code, ErrorCode) and self.code.retriable


def error_code(code: int) -> ErrorCode | int:
    """kio's member for a code; the bare number for one that is newer than kio."""
    try:
        return ErrorCode(code)
    except ValueError:
        return code


def check(code: int, message: str | None = None) -> None:
    """Raise the broker's error, if it is one."""
    if code != 0:
        raise BrokerError(code, message)
