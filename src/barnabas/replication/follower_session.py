"""The follower's side of an incremental fetch session (KIP-227): what the leader knows already. Pure.

The first request of a session names every partition. Later ones name only those that changed and those that
are no longer fetched. A leader that refuses the session, or does not keep one, gets every partition again.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from barnabas.wire.fetch import FetchPartition

_NO_SESSION = 0
_INITIAL_EPOCH = 0
_MAX_EPOCH = 2**31 - 1


class SessionPartition(NamedTuple):
    """A topic that was deleted and created anew has another id."""

    topic_id: UUID
    partition: int


class SessionRequest(NamedTuple):
    session_id: int
    session_epoch: int
    changed: Mapping[SessionPartition, FetchPartition]
    forgotten: Iterable[SessionPartition]


class FollowerSession:
    def __init__(self) -> None:
        self.partitions: dict[SessionPartition, FetchPartition] = {}
        """What the leader fetches from in this session, as of the last request."""
        self._id: int = _NO_SESSION
        self._epoch: int = _INITIAL_EPOCH

    @property
    def is_new(self) -> bool:
        """Whether the next request has to name every partition."""
        return self._epoch == _INITIAL_EPOCH

    def request(self, wanted: Mapping[SessionPartition, FetchPartition | None]) -> SessionRequest:
        """The next request, after these partitions have changed. None: it is not fetched any more."""
        known, changed, forgotten = self.partitions, {}, []
        for key, each in wanted.items():
            if each is None:
                if known.pop(key, None) is not None:
                    forgotten.append(key)
            elif known.get(key) != each:
                known[key] = changed[key] = each
        if self.is_new:
            return SessionRequest(self._id, self._epoch, dict(known), ())
        return SessionRequest(self._id, self._epoch, changed, forgotten)

    def on_response(self, session_id: int) -> None:
        """The leader has answered without an error. Id 0: it keeps no session for this follower."""
        if session_id == _NO_SESSION:
            self.reset()
            return
        self._id = session_id
        self._epoch = 1 if self._epoch == _MAX_EPOCH else self._epoch + 1

    def reset(self) -> None:
        """Begin anew: the leader refused the session, or may not have seen the last request.

        The id stays: the leader then frees the old session.
        """
        self.partitions.clear()
        self._epoch = _INITIAL_EPOCH
