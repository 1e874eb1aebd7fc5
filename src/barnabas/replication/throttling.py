"""Replication throttles (KIP-73): how fast replicas that are not in sync may be copied.

The rate of a broker (`leader.replication.throttled.rate`, `follower...`) holds for the replicas that their
topics list (`leader.replication.throttled.replicas`, `follower...`). It is measured as in Kafka: the bytes in
the samples of the last `replication.quota.window.num` windows, divided by the time since the oldest of them
began, one window at least. Bytes of listed replicas that are in sync count and are never held back. Called
from the event loop's thread only.
"""

from collections import deque
from collections.abc import Callable

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.log_config import LONG_MAX

UNLIMITED = LONG_MAX
_WINDOWS = 11
_WINDOW_SECONDS = 1.0
_MARGIN_SECONDS = 0.001


class MeasuredRate:
    """Bytes in a second over the samples of the last windows (Kafka's SimpleRate)."""

    __slots__ = ("_count", "_samples", "_seconds")

    def __init__(self, count: int, seconds: float) -> None:
        self._count: int = count
        self._seconds: float = seconds
        self._samples: deque[list[float]] = deque()
        """Start, time of the last record, bytes."""

    def record(self, size: int, now: float) -> None:
        samples = self._samples
        if not samples or now - samples[-1][0] >= self._seconds:
            samples.append([now, now, 0.0])
            if len(samples) > self._count + 1:  # One more: the oldest may overlap the time that counts.
                samples.popleft()
        sample = samples[-1]
        sample[1] = now
        sample[2] += size

    def measure(self, now: float) -> float:
        samples = self._samples
        while samples and now - samples[0][1] >= self._count * self._seconds:
            samples.popleft()
        if not samples:
            return 0.0
        return sum(size for _, _, size in samples) / max(now - samples[0][0], self._seconds)

    def seconds_above(self, limit: int, now: float) -> float:
        """How long the rate stays above `limit` if nothing is recorded. 0 if it is not above."""
        if self.measure(now) <= limit:
            return 0.0
        total = sum(size for _, _, size in self._samples)
        expired = self._samples[-1][1] + self._count * self._seconds
        return (min(self._samples[0][0] + total / limit, expired) if limit else expired) - now


class ReplicationQuota:
    """One direction of a broker: what it sends as leader, or what it receives as follower."""

    def __init__(
        self,
        broker_id: int,
        monotonic: Callable[[], float],
        windows: int = _WINDOWS,
        window_seconds: float = _WINDOW_SECONDS,
    ) -> None:
        self.limit: int = UNLIMITED
        """Bytes in a second."""
        self._broker_id: int = broker_id
        self._monotonic: Callable[[], float] = monotonic
        self._rate: MeasuredRate = MeasuredRate(windows, window_seconds)
        self._listed: dict[str, tuple[tuple[str, ...], frozenset[int]]] = {}

    @property
    def is_exceeded(self) -> bool:
        return self.limit != UNLIMITED and self._rate.measure(self._monotonic()) > self.limit

    @property
    def pause(self) -> float:
        """Seconds until it is not exceeded any more."""
        return self._rate.seconds_above(self.limit, self._monotonic()) + _MARGIN_SECONDS

    def record(self, size: int) -> None:
        self._rate.record(size, self._monotonic())

    def is_listed(self, topic: str, partition: int, replicas: tuple[str, ...]) -> bool:
        """Whether the topic's list of throttled replicas has this partition on this broker."""
        if not replicas:
            return False
        if replicas == ("*",):
            return True
        known = self._listed.get(topic)
        if known is None or known[0] is not replicas:
            known = self._listed[topic] = (replicas, self._numbers(replicas))
        return partition in known[1]

    def _numbers(self, replicas: tuple[str, ...]) -> frozenset[int]:
        pairs = (each.partition(":") for each in replicas if each)
        own = str(self._broker_id)
        return frozenset(int(number) for number, _, broker_id in pairs if broker_id == own)


class ReplicationQuotas:
    """Both directions, as the configuration of the broker sets them."""

    def __init__(self, config: BrokerConfig, monotonic: Callable[[], float]) -> None:
        windows = config.get("replication.quota.window.num")
        seconds = config.get("replication.quota.window.size.seconds")
        assert isinstance(windows, int)
        assert isinstance(seconds, int)
        self.leader: ReplicationQuota = ReplicationQuota(config.broker_id, monotonic, windows, seconds)
        self.follower: ReplicationQuota = ReplicationQuota(config.broker_id, monotonic, windows, seconds)
        self.configure(config)

    def configure(self, config: BrokerConfig) -> None:
        """Apply a change of the broker's configuration."""
        for quota, key in ((self.leader, "leader"), (self.follower, "follower")):
            rate = config.get(f"{key}.replication.throttled.rate")
            quota.limit = rate if isinstance(rate, int) else UNLIMITED
