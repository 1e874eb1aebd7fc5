"""Hypothesis strategies for records and batches."""

from hypothesis import strategies as st

from barnabas.records.record import Record

CODECS = range(5)

timestamps = st.integers(0, 1 << 45)
payloads = (
    st.none()
    | st.binary(max_size=200)
    | st.builds(bytes.__mul__, st.binary(max_size=9), st.integers(0, 2000))
)
headers = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=40)), max_size=4).map(tuple)


def record_lists(min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[list[Record]]:
    """Records with offsets 0, 1, 2, ... as a producer numbers them."""
    content = st.tuples(timestamps, payloads, payloads, headers)
    return st.lists(content, min_size=min_size, max_size=max_size).map(
        lambda rows: [Record(offset, *row) for offset, row in enumerate(rows)]
    )
