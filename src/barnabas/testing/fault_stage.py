"""Injects faults into requests: a stage of the broker's request pipeline.

The first rule that fits a request applies, and counts. Requests of other brokers and of this package's own
client are left alone, unless a rule names their client id. Without rules the stage is idle and costs nothing.
Rules come from any thread; everything else happens on the event loop.
"""

import re
import threading
import weakref
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode
from barnabas.handlers.exchange import Exchange
from barnabas.handlers.pipeline import Delay, Disconnect, Drop, Respond, Stage, Verdict
from barnabas.handlers.registry import APIS, FETCH, PRODUCE
from barnabas.network.connection import Connection
from barnabas.testing.admin import CLIENT_ID
from barnabas.testing.error_responses import (
    METADATA,
    error_response,
    topics_of,
    with_throttle_time,
    with_topic_errors,
)
from barnabas.wire.header import skip_tags
from barnabas.wire.schemas import request_schema

if TYPE_CHECKING:
    from barnabas.handlers.contexts import Contexts

ERROR, DELAY, DISCONNECT, THROTTLE, DROP = "error", "delay", "disconnect", "throttle", "drop_response"
_BROKER = re.compile(r"broker-\d+-")
_REASON = "a test has injected a fault"


@dataclass(slots=True)
class Rule:
    kind: str
    api_key: int | None
    times: int | None
    """How many more requests it applies to; None: all."""
    topic: str | None
    client_id: str | None
    code: int = 0
    seconds: float = 0.0
    is_silent: bool = False
    """Of `drop_response`: the connection stays open."""


@dataclass(frozen=True, slots=True)
class Injected:
    """One fault that happened."""

    kind: str
    api: str
    version: int
    client_id: str | None
    topics: tuple[str, ...]
    error: str | None


class FaultStage(Stage):
    def __init__(self) -> None:
        self.is_idle: bool = True
        self._rules: list[Rule] = []
        self._lock: threading.Lock = threading.Lock()
        self._silent: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._contexts: Contexts | None = None
        self.log: list[Injected] = []

    def attach(self, contexts: "Contexts") -> None:
        """The broker is ready."""
        self._contexts = contexts

    # --- commands -------------------------------------------------------------------------------------

    def add(self, **rule: Any) -> None:
        with self._lock:
            self._rules = [*self._rules, Rule(**rule)]
            self.is_idle = False

    def clear(self) -> None:
        """Remove all rules and the log. Connections that were silenced are closed by their clients."""
        with self._lock:
            self._rules = []
            self.log = []
            self.is_idle = not self._silent

    def read_log(self) -> list[dict[str, Any]]:
        with self._lock:
            return [asdict(each) for each in self.log]

    # --- requests -------------------------------------------------------------------------------------

    def before(self, exchange: Exchange) -> Verdict | None:
        if exchange.header is None or exchange.connection in self._silent:
            return None
        rule = self._take(exchange)
        if rule is None:
            return None
        if rule.kind == DELAY:
            return Delay(rule.seconds)
        if rule.kind == DISCONNECT:
            return Disconnect(_REASON)
        if rule.kind == ERROR and exchange.api_key != METADATA:
            return self._refuse(exchange, ErrorCode(rule.code))
        exchange.notes[self] = rule, exchange.header
        return None

    def after(self, exchange: Exchange) -> Verdict | None:
        if exchange.connection in self._silent:
            return Drop()
        if self not in exchange.notes:
            return None
        rule, header = exchange.notes[self]
        if rule.kind == DROP:
            if not rule.is_silent:
                return Disconnect(_REASON)
            self._silent.add(exchange.connection)
            return Drop()
        parts = exchange.response
        if parts is None:
            return None
        if rule.kind == ERROR:
            return Respond(with_topic_errors(parts, header.version, ErrorCode(rule.code)))
        throttled = with_throttle_time(parts, header.api_key, header.version, round(rule.seconds * 1000))
        if throttled is None:
            return None
        exchange.connection.mute(rule.seconds)
        return Respond(throttled)

    def _take(self, exchange: Exchange) -> Rule | None:
        """The rule that applies, counted and logged."""
        client_id = exchange.client_id
        for rule in self._rules:
            if not _fits(rule, exchange.api_key, client_id):
                continue
            body = _body(exchange)
            topics = self._names(exchange.api_key, body)
            if rule.topic is not None and not any(fnmatchcase(each, rule.topic) for each in topics):
                continue
            if rule.kind == ERROR and exchange.api_key == METADATA and body.topics == ():
                continue  # The response to a request for brokers only has no field for the error.
            with self._lock:
                if rule not in self._rules:
                    return None  # cleared meanwhile
                self._count(rule)
                self.log.append(_injected(rule, exchange, client_id, topics))
            return rule
        return None

    def _count(self, rule: Rule) -> None:
        if rule.times is not None:
            rule.times -= 1
            if rule.times <= 0:
                self._rules = [each for each in self._rules if each is not rule]
                self.is_idle = not self._rules and rule.kind != DROP and not self._silent

    def _refuse(self, exchange: Exchange, code: ErrorCode) -> Verdict:
        assert exchange.header is not None
        assert self._contexts is not None
        body = _body(exchange)
        if exchange.api_key == PRODUCE and body.acks == 0:
            return Disconnect(_REASON)  # There is no response: Kafka closes the connection.
        sessions = self._contexts.records.fetch_sessions
        return Respond(error_response(exchange.header, body, code, sessions))

    def _names(self, api_key: int, body: Any) -> tuple[str, ...]:
        assert self._contexts is not None
        image = self._contexts.cluster.image
        names = []
        for each in topics_of(api_key, body, self._contexts.records.fetch_sessions):
            if not isinstance(each, str):
                topic = image.topic_by_id.get(each)
                each = "" if topic is None else topic.name
            names.append(each)
        return tuple(dict.fromkeys(filter(None, names)))


def _fits(rule: Rule, api_key: int, client_id: str | None) -> bool:
    if rule.api_key is not None and rule.api_key != api_key:
        return False
    if rule.client_id is not None:
        return fnmatchcase(client_id or "", rule.client_id)
    return client_id is None or (client_id != CLIENT_ID and _BROKER.match(client_id) is None)


def _body(exchange: Exchange) -> Any:
    """The request in its own version, as kio reads it (Produce and Fetch: as this broker does)."""
    if exchange.api_key in (PRODUCE, FETCH):
        return exchange.body()
    header = exchange.header
    assert header is not None
    schema = request_schema(header.api_key, header.version, header.version)
    position = skip_tags(exchange.frame, header.end) if schema.has_header_tags else header.end
    return schema.read(exchange.frame, position)[0]


def _injected(rule: Rule, exchange: Exchange, client_id: str | None, topics: Iterable[str]) -> Injected:
    assert exchange.header is not None
    error = ErrorCode(rule.code).name.upper() if rule.kind == ERROR else None
    name = APIS[exchange.api_key].name
    return Injected(rule.kind, name, exchange.header.version, client_id, tuple(topics), error)
