"""Which sessions of the simulated store end: those whose process did not renew them in time.

A process renews its session while it runs and reaches the store. One that is paused, cut off or without power
does not: its session expires after the timeout. The death of a process on the store's own host is noticed
earlier, as the embedded store does.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.scheduler import Scheduler
from tests.simulation.store import StoreClient

SESSION_SECONDS = 3.0
_CHECK_SECONDS = 0.25


@dataclass(slots=True)
class Lease:
    client: StoreClient
    can_renew: Callable[[], bool]
    renewed: float


class Leases:
    def __init__(self, scheduler: Scheduler, timeout: float = SESSION_SECONDS) -> None:
        self._scheduler: Scheduler = scheduler
        self._timeout: float = timeout
        self._leases: list[Lease] = []
        self.is_away: bool = False
        """The store is away: it ends no session, and gives every one the whole timeout when it is back."""
        scheduler.after(_CHECK_SECONDS, "check of sessions", self._check)

    def add(self, client: StoreClient, can_renew: Callable[[], bool]) -> None:
        self._leases.append(Lease(client, can_renew, self._scheduler.now))

    def _check(self) -> None:
        now = self._scheduler.now
        self._leases = [lease for lease in self._leases if not lease.client.is_closed]
        for lease in self._leases:
            if self.is_away or lease.can_renew():
                lease.renewed = now
            elif now - lease.renewed > self._timeout:
                lease.client.expire()
        self._scheduler.after(_CHECK_SECONDS, "check of sessions", self._check)
