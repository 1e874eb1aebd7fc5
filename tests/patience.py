"""How long the tests wait for what ought to happen at once.

A test waits for a condition and goes on as soon as it holds, so a generous limit costs nothing until
something is broken. The machine may be busy with other work: a limit of a few seconds fails there.
"""

PATIENCE = 60.0
"""Seconds until something that has not happened counts as failed."""
PROGRAM_PATIENCE = 300.0
"""The same for a whole program in a process of its own: a JVM takes seconds of both cores to start."""
NEVER_MS = 600_000
"""Milliseconds of a timeout that must not run out during a test; far longer than PATIENCE."""
