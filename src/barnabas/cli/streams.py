"""The standard streams of a tool: opened at the start, and discarded when they fail.

A tool may run with a closed stream, with an encoding that lacks characters it prints, into a closed pipe, or
onto a full disk. None of these prints a traceback.
"""

import io
import os
import sys


def open_streams() -> None:
    """Opens the null device for a stream that was closed at the start.

    Otherwise the next socket would get its descriptor. Characters that the encoding lacks are escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  open until the process ends
        elif mode == "w" and isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Redirects stdout to the null device, also for what Python flushes at exit."""
    try:
        target = sys.stdout.fileno()
    except (io.UnsupportedOperation, AttributeError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, target)
    os.close(nowhere)


def failure_of(error: OSError) -> str:
    """One line for the error of a file. An error without a file name is about the output."""
    reason = error.strerror or str(error)
    return (
        f"The output cannot be written: {reason}" if error.filename is None else f"{error.filename}: {reason}"
    )
