"""How a partition changes: its in-sync replicas, its leader, its replicas. Pure.

The rules and their order are those of Kafka's PartitionChangeBuilder:
1. A reassignment whose target replicas are in sync ends.
2. Replicas that leave the ISR while it is smaller than `min.insync.replicas` become eligible leader replicas
   (ELR, KIP-966): the high watermark stands still meanwhile, so they have every committed record.
3. A leader is elected: the current one if it may stay, else the first replica of the ISR, else of the ELR,
   else the last known leader, else, where the topic allows unclean elections, any live replica.
"""

from collections.abc import Callable, Collection, Sequence
from enum import Enum

from barnabas.metadata.image import NO_LEADER, PartitionImage

IsElectable = Callable[[int], bool]
"""Whether a broker may lead: it has a session, is not shutting down, and has a log directory online."""


class Election(Enum):
    PREFERRED = "preferred"
    """The first replica, if it is in the ISR."""
    ONLINE = "online"
    """Any replica of the ISR or ELR. The current leader stays if it may."""
    UNCLEAN = "unclean"
    """As ONLINE, but a replica outside of both rather than no leader. Records may be lost."""


class PartitionChange:
    """The change of one partition. Set what is wanted, then `apply`."""

    def __init__(self, partition: PartitionImage, is_electable: IsElectable, min_isr: int) -> None:
        self.before: PartitionImage = partition
        self.isr: tuple[int, ...] = partition.isr
        self.replicas: tuple[int, ...] = partition.replicas
        self.adding: tuple[int, ...] = partition.adding
        self.removing: tuple[int, ...] = partition.removing
        self.unclean_replicas: Collection[int] = ()
        """Replicas whose logs may have lost their ends: they leave the ELR."""
        self.election: Election = Election.ONLINE
        self.is_recovering: bool = partition.is_recovering
        self._elr: tuple[int, ...] = partition.elr
        self._is_electable: IsElectable = is_electable
        self._min_isr: int = min_isr

    def apply(self) -> PartitionImage:
        """Returns the partition after the change: the same object if nothing changes.

        The leader epoch rises with every election, and when a replica is removed. `state_version` stays that
        of the state to replace.
        """
        before = self.before
        self._complete_reassignment()
        self._update_elr()
        leader, is_unclean = self._elect()
        has_new_leader = leader != before.leader
        if has_new_leader:
            self._lead(leader, is_unclean)
        must_fence = not set(before.replicas) <= set(self.replicas)
        after = before._replace(
            leader=leader,
            leader_epoch=before.leader_epoch + (has_new_leader or must_fence),
            isr=self.isr,
            replicas=self.replicas,
            adding=self.adding,
            removing=self.removing,
            elr=self._elr,
            last_known_elr=self._last_known_elr(leader, has_new_leader or must_fence),
            is_recovering=self.is_recovering,
        )
        return before if after == before else after

    def _complete_reassignment(self) -> None:
        if not (self.adding or self.removing):
            return
        isr = _without(self.isr, self.removing)
        replicas = _without(self.replicas, self.removing)
        if not isr or not replicas or not set(self.adding) <= set(isr):
            return
        # With fewer replicas than before, each of them must be in sync: the ISR must not get smaller.
        if len(self.adding) < len(self.removing) and not set(replicas) <= set(isr):
            return
        self.isr, self.replicas, self.adding, self.removing = isr, replicas, (), ()

    def _update_elr(self) -> None:
        if len(self.isr) >= self._min_isr:
            self._elr = ()
            return
        candidates = dict.fromkeys((*self._elr, *self.before.isr))
        excluded = {*self.isr, *self.unclean_replicas}
        members = set(self.replicas)
        self._elr = tuple(sorted(each for each in candidates if each not in excluded and each in members))

    def _elect(self) -> tuple[int, bool]:
        """Returns the leader, and whether its election was unclean."""
        current = self.before.leader
        if self.election is Election.PREFERRED and self._may_lead(self.replicas[0]):
            return self.replicas[0], False
        if self._may_lead(current):
            return current, False
        for replica in self.replicas:
            if self._may_lead(replica):
                return replica, False
        if self._may_elect_last_known_leader():
            return self.before.last_known_elr[0], True
        if self.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self._is_electable(replica):
                    return replica, True
        return NO_LEADER, False

    def _may_lead(self, replica: int) -> bool:
        is_candidate = replica in self.isr or (not self.isr and replica in self._elr)
        return is_candidate and self._is_electable(replica)

    def _may_elect_last_known_leader(self) -> bool:
        known = self.before.last_known_elr
        return not self._elr and not self.isr and len(known) == 1 and self._is_electable(known[0])

    def _lead(self, leader: int, is_unclean: bool) -> None:
        if leader in self._elr:
            self.isr = (leader,)
            self._elr = _without(self._elr, self.isr)
        if is_unclean:
            self.isr, self._elr = (leader,), ()
            # A sole replica has nothing to recover: no other log can differ from its own.
            self.is_recovering = len(self.replicas) > 1

    def _last_known_elr(self, leader: int, is_set: bool) -> tuple[int, ...]:
        known = self.before.last_known_elr
        if leader == NO_LEADER and is_set and not known:
            return (self.before.leader,)
        if leader != NO_LEADER and is_set:
            return ()
        return known


def _without(replicas: Sequence[int], removed: Collection[int]) -> tuple[int, ...]:
    return tuple(replica for replica in replicas if replica not in removed)
