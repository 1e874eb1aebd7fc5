"""Errors of one record or one schema, and errors of the registry itself.

A bad record is data, and goes to dead letters. A registry that does not respond fails the task: otherwise its
outage would send every record to dead letters.
"""


class BadRecord(Exception):
    """This record cannot be decoded; the message is the column's `error`."""


class UnsupportedSchema(ValueError):
    """No column type can be made of this schema."""


class RegistryUnavailable(Exception):
    """The registry did not answer, or refused; the message says what to do."""
