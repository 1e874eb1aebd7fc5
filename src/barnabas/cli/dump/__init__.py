"""Decodes the files of a log, for `kafka-dump-log` and `barnabas log`.

The package only reads, one piece at a time. It may read the directory of a running broker.
"""


class Unreadable(Exception):
    """The file cannot be decoded from here on. The message is one line."""
