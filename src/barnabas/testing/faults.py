"""Faults by request, as a test writes them: `faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=3)`.

Rules are checked here and executed in the broker (`barnabas.testing.fault_stage`). They apply to requests
that arrive after the call has returned, until they are used up, cleared, or the broker stops.
"""

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.base.errors import ErrorCode
    from barnabas.testing.broker import Broker
    from barnabas.testing.fault_stage import Injected


class Faults:
    """For one broker, or for each running broker of a cluster.

    api: the name of an API of Kafka, "Produce"; None: every API.
    times: to how many requests it applies (of a cluster: for each broker); None: to all.
    topic: only to requests that name this topic; `*` and `?` stand for other characters.
    client_id: only to requests of this client; likewise. Requests of other brokers ("broker-1-...") and of
        this package ("barnabas-testing") must be named to be hit.
    """

    def __init__(self, brokers: "Callable[[], Iterable[Broker]]") -> None:
        self._brokers: Callable[[], Iterable[Broker]] = brokers

    def error(
        self,
        api: str,
        error: "str | int | ErrorCode",
        *,
        times: int | None = None,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> None:
        """Refuse requests with an error of Kafka, by its name. They are not executed.

        A request that names several topics is refused as a whole.
        """
        self._add("error", api, times, topic, client_id, code=error_code(error))

    def delay(
        self,
        api: str | None = None,
        *,
        seconds: float,
        times: int | None = None,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> None:
        """Execute requests after this time. Later requests of the connection wait."""
        self._add("delay", api, times, topic, client_id, seconds=_duration(seconds))

    def disconnect(
        self,
        api: str | None = None,
        *,
        times: int | None = None,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> None:
        """Close the connection instead of executing the request."""
        self._add("disconnect", api, times, topic, client_id)

    def throttle(
        self,
        api: str | None = None,
        *,
        seconds: float,
        times: int | None = None,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> None:
        """Answer with this throttle time, and execute no further request of the connection meanwhile."""
        self._add("throttle", api, times, topic, client_id, seconds=_duration(seconds))

    def drop_response(
        self,
        api: str | None = None,
        *,
        close: bool = True,
        times: int | None = None,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> None:
        """Execute the request and close the connection instead of answering.

        With `close=False` the connection stays open, and nothing more is sent on it.
        """
        self._add("drop_response", api, times, topic, client_id, is_silent=not close)

    def clear(self) -> None:
        """Remove all rules, and the log."""
        for broker in self._running():
            broker.command("faults.clear")

    @property
    def log(self) -> "list[Injected]":
        """What was injected since the last `clear()`, in order; of a cluster: broker by broker."""
        from barnabas.testing.fault_stage import Injected

        return [
            Injected(**{**each, "topics": tuple(each["topics"])})
            for broker in self._running()
            for each in broker.command("faults.log")
        ]

    def _add(
        self,
        kind: str,
        api: str | None,
        times: int | None,
        topic: str | None,
        client_id: str | None,
        **more: Any,
    ) -> None:
        if times is not None and times < 1:
            raise ValueError(f"times={times}: expected at least 1, or None for every request")
        key = None if api is None else api_key(api)
        running = self._running()
        if not running:
            raise RuntimeError("no broker is running: start() it first")
        for broker in running:
            broker.command(
                "faults.add", kind=kind, api_key=key, times=times, topic=topic, client_id=client_id, **more
            )

    def _running(self) -> "Sequence[Broker]":
        return [each for each in self._brokers() if each.running and not each.paused]


def api_key(name: str) -> int:
    """Raises ValueError for a name that is not an API of this broker."""
    from barnabas.handlers.registry import APIS

    served = {_plain(api.name): api for api in APIS.values() if api.is_advertised or api.is_between_brokers}
    found = served.get(_plain(name))
    if found is None:
        close = difflib.get_close_matches(_plain(name), served, 1)
        hint = f"; did you mean {served[close[0]].name}?" if close else ""
        raise ValueError(f"{name!r} is not an API that this broker serves{hint}")
    return found.key


def error_code(error: "str | int | ErrorCode") -> int:
    """Raises ValueError for a name or number that is not an error of Kafka."""
    from barnabas.base.errors import ErrorCode

    names = {each.name: each for each in ErrorCode if each is not ErrorCode.none}
    if isinstance(error, str):
        found = names.get(error.lower())
        if found is None:
            close = difflib.get_close_matches(error.lower(), names, 1)
            hint = f"; did you mean {close[0].upper()}?" if close else ""
            raise ValueError(f"{error!r} is not an error of Kafka{hint}")
        return int(found)
    if int(error) not in {int(each) for each in names.values()}:
        raise ValueError(f"{error!r} is not an error of Kafka")
    return int(error)


def _duration(seconds: float) -> float:
    if not 0 <= seconds < 2**31 / 1000:
        raise ValueError(f"seconds={seconds}: expected a number from 0 up")
    return float(seconds)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
