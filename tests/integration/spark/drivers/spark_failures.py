"""Failures of Spark itself, which say nothing of the data source: the query is started again then."""

_SAID = (
    "Python worker failed to connect back",  # ten seconds to start, which a busy machine may need
    # A query that starts puts its environment into a map that the tasks of another one are just pickled with.
    "java.io.OptionalDataException",
)
MOST_STARTS = 6


def is_sparks_own(text: str) -> bool:
    return any(each in text for each in _SAID)
