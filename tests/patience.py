"""How long the tests wait for what ought to happen at once.

A test waits for a condition and goes on as soon as it holds, so a generous limit costs nothing until
something is broken. The machine may be busy with other work: a limit of a few seconds fails there.
"""

PATIENCE = 60.0
"""Seconds until something that has not happened counts as failed."""
NEVER_MS = 600_000
"""Milliseconds of a timeout that must not run out during a test; far longer than PATIENCE."""
