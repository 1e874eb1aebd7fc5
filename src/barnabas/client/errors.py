"""Errors of the client. The message of each is one line.

`BrokerError` is an error in the response of a broker. The others mean that there was no usable response.
"""

from kio.schema.errors import ErrorCode

from barnabas.client.error_messages import MESSAGES


class ClientError(Exception):
    """The base class: a command-line tool prints it and exits with a non-zero status."""


class Unreachable(ClientError):
    """No broker responds."""


class TimedOut(ClientError):
    """A broker received the request and did not respond in time."""


class Unsupported(ClientError):
    """The broker does not serve this API, or not in a version that supports the request."""


class BadSettings(ClientError):
    """An address or a property of the client is invalid."""


class BadValue(ClientError):
    """A request cannot be encoded: a number is out of range, or a text is not valid."""


class BrokerError(ClientError):
    """An error of a broker: its code, and its message or else the protocol's message."""

    def __init__(self, code: int, message: str | None = None) -> None:
        self.code: ErrorCode | int = error_code(code)
        self.message: str = message or MESSAGES.get(
            code, f"The broker responded with the unknown error {code}."
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
    """The member of kio for a code. Returns the number if the code is newer than kio."""
    try:
        return ErrorCode(code)
    except ValueError:
        return code


def check(code: int, message: str | None = None) -> None:
    """Raises BrokerError if the code is an error."""
    if code != 0:
        raise BrokerError(code, message)
