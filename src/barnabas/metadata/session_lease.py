"""The lease of a session of the embedded store: who renews it, and who may declare another one stale.

`SessionLease` has a thread that does nothing but renew the stamp of this store's session (`sessions`), four
times per timeout: neither the database nor a watch callback can hold it up.

`PauseDetector` prevents that a store whose own process was stopped takes the others for dead: if the host,
the container or all processes were stopped together, every stamp is old when the first of them continues.
After a pause of its own a store counts the silence of the others from its end.
"""

import logging
import threading
from collections.abc import Callable

from barnabas.metadata.sessions import StoreSession

logger = logging.getLogger(__name__)

RENEWALS_PER_TIMEOUT = 4
MILLISECOND_NS = 1_000_000


class SessionLease:
    def __init__(self, session: StoreSession, timeout_ms: int, now_ns: Callable[[], int]) -> None:
        self._session: StoreSession = session
        self._interval_seconds: float = timeout_ms / 1000 / RENEWALS_PER_TIMEOUT
        self._now_ns: Callable[[], int] = now_ns
        self._stopping: threading.Event = threading.Event()
        self._thread: threading.Thread = threading.Thread(
            target=self._run, name="metadata-lease", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop renewing. The thread ends soon, and a stamp after this is harmless."""
        self._stopping.set()

    def _run(self) -> None:
        is_failing = False
        while not self._stopping.wait(self._interval_seconds):
            try:
                self._session.stamp(self._now_ns())
                is_failing = False
            except OSError as error:
                if not is_failing:
                    logger.warning(
                        "Cannot renew session %016x of the metadata store; retrying: %s."
                        " Other brokers may expire it",
                        self._session.id,
                        error.strerror,
                    )
                is_failing = True


class PauseDetector:
    """`tick` must be called regularly by a thread while there is one."""

    def __init__(self, now_ns: Callable[[], int], longest_gap_ms: int) -> None:
        self._now_ns: Callable[[], int] = now_ns
        self._longest_gap_ns: int = longest_gap_ms * MILLISECOND_NS
        self._lock: threading.Lock = threading.Lock()
        self._last_tick_ns: int | None = None
        self._running_since_ns: int = -(2**62)

    def tick(self) -> None:
        with self._lock:
            self._last_tick_ns = self._check(self._now_ns())

    def stop(self) -> None:
        """No thread ticks any more."""
        with self._lock:
            self._last_tick_ns = None

    def stale_before(self, timeout_ms: int) -> int:
        """Returns the time before which a stamp is too old, now, for a session with this timeout."""
        with self._lock:
            now_ns = self._check(self._now_ns())
            oldest_ns = now_ns - timeout_ms * MILLISECOND_NS
            # Within one timeout of a pause no stamp is too old.
            return oldest_ns if oldest_ns >= self._running_since_ns else -(2**62)

    def _check(self, now_ns: int) -> int:
        if self._last_tick_ns is not None and now_ns - self._last_tick_ns > self._longest_gap_ns:
            self._running_since_ns = self._last_tick_ns = now_ns
        return now_ns
