"""The standard streams of a tool: always there, able to take any text, let go of when they fail.

A tool may be started with a stream closed, in a locale without the letters it has to print, into a pipe
whose reader has enough, or onto a disk that is full. None of that is worth a traceback.
"""

import io
import os
import sys


def open_streams() -> None:
    """A stream that was closed by whoever started us is the null device from now on.

    Otherwise its descriptor would be the next socket's. What the encoding lacks is written as an escape.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  open until the process ends
        elif mode == "w" and isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Nothing more is written to stdout, not even what Python flushes at its exit into the closed pipe."""
    try:
        target = sys.stdout.fileno()
    except (io.UnsupportedOperation, AttributeError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, target)
    os.close(nowhere)


def failure_of(error: OSError) -> str:
    """One line for a file that cannot be used; without a file's name it was the output."""
    reason = error.strerror or str(error)
    return (
        f"The output cannot be written: {reason}" if error.filename is None else f"{error.filename}: {reason}"
    )
