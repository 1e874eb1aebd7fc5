"""A failure that says nothing of the data source."""

NO_WORKER = "Python worker failed to connect back"
"""Spark gives a worker ten seconds to start, which a busy machine may need."""
