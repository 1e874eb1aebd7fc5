"""The Java client as a transactional producer (java/TransactionCommands.java is the other end)."""

import itertools
from collections.abc import Sequence

from tests.integration.clients.drivers import SendFailed
from tests.integration.clients.drivers.group_client import Offsets
from tests.integration.clients.drivers.group_java import offset_words
from tests.integration.clients.drivers.java import JavaMachine, words_of
from tests.integration.clients.drivers.transaction_client import (
    MustAbort,
    ProducerFenced,
    TransactionFailed,
    TransactionSettings,
)
from tests.integration.clients.messages import Message
from tests.patience import PATIENCE

_FENCING = ("ProducerFencedException", "InvalidProducerEpochException", "InvalidPidMappingException")
_ABORTABLE = ("TransactionAbortableException", "CommitFailedException")
_numbers = itertools.count()


class JavaTransactions:
    def __init__(self, machine: JavaMachine, bootstrap_servers: str, settings: TransactionSettings) -> None:
        self._machine: JavaMachine = machine
        self._name: str = f"producer-{next(_numbers)}"
        self._is_over: bool = False
        self._ask("open", _settings(bootstrap_servers, settings))

    def init(self) -> None:
        self._ask("init")

    def init_two_phase(self, *, keep: bool) -> str:
        """As one whose transactions an outside coordinator ends (KIP-939): what was kept, as `id:epoch`."""
        (kept,) = self._ask("init-two-phase", str(keep).lower())
        return kept

    def prepare(self) -> str:
        """What the outside coordinator would write down, as `id:epoch`."""
        (prepared,) = self._ask("prepare")
        return prepared

    def begin(self) -> None:
        self._ask("begin")

    def send(self, topic: str, messages: Sequence[Message]) -> None:
        self._ask("send", topic, lines=["\t".join(words_of(message)) for message in messages])

    def send_offsets(self, offsets: Offsets, consumer: object) -> None:
        membership = consumer if isinstance(consumer, tuple) else (str(consumer), "-1", "", "")
        self._ask("send-offsets", *membership, *offset_words(offsets))

    def commit(self) -> None:
        self._ask("commit")

    def abort(self) -> None:
        self._ask("abort")

    def abandon(self) -> None:
        if not self._is_over:
            self._ask("abandon")
        self._is_over = True

    def _ask(self, command: str, *words: str, lines: Sequence[str] = ()) -> list[str]:
        try:
            return self._machine.ask_named("transaction", self._name, command, *words, lines=lines)
        except SendFailed as error:
            text = str(error)
            if any(name in text for name in _FENCING):
                raise ProducerFenced(text) from error
            if any(name in text for name in _ABORTABLE):
                raise MustAbort(text) from error
            raise TransactionFailed(text) from error


def _settings(bootstrap_servers: str, settings: TransactionSettings) -> str:
    chosen: dict[str, object] = {
        "bootstrap.servers": bootstrap_servers,
        "transactional.id": settings.id,
        "compression.type": settings.codec,
        "max.block.ms": int(PATIENCE * 1000),
        "linger.ms": 1,
        "retry.backoff.ms": 20,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 100,
    }
    if settings.is_two_phase:
        chosen["transaction.two.phase.commit.enable"] = "true"
    else:
        chosen["transaction.timeout.ms"] = settings.timeout_ms
    return ";".join(f"{key}={value}" for key, value in chosen.items())
