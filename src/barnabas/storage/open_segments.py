"""Bounds how many sealed segments keep their indexes in memory, over all logs of a broker."""

from collections import OrderedDict

from barnabas.storage.segment import Segment

DEFAULT_LIMIT = 256


class OpenSegments:
    """The least recently read segment is released when there are more than `limit`."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit: int = limit
        self._segments: OrderedDict[Segment, None] = OrderedDict()

    def touch(self, segment: Segment) -> None:
        segments = self._segments
        if segment in segments:
            segments.move_to_end(segment)
            return
        segments[segment] = None
        if len(segments) > self._limit:
            oldest, _ = segments.popitem(last=False)
            oldest.release()

    def forget(self, segment: Segment) -> None:
        """The segment became active again, or was removed."""
        self._segments.pop(segment, None)

    def __len__(self) -> int:
        return len(self._segments)
