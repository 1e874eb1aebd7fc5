"""Which records are shown: those with a text in their key or value, or all."""

import re
from collections.abc import Callable

from barnabas.cli.messages.record_formatter import Received
from barnabas.client.errors import BadSettings


class Filter:
    @staticmethod
    def of(pattern: str | None) -> Callable[[Received], bool]:
        """By a regular expression over the bytes. Raises BadSettings."""
        if pattern is None:
            return lambda record: True
        try:
            search = re.compile(pattern.encode("utf-8", "surrogateescape")).search
        except re.error as error:
            raise BadSettings(f"{pattern!r} is no regular expression: {error}") from None
        return lambda record: bool(search(record.value() or b"") or search(record.key() or b""))
