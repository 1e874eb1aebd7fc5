"""One client of a run, in a process of its own that may be killed and frozen.

`python -m tests.faults.transactions.client ROLE SERVERS NAME PROCESS PARTITIONS PAUSE JOURNAL`. SIGTERM lets
it finish its transaction. `NAME` is its transactional id: a client that replaces another has the
same. The topic `source` is for everybody; `target` holds what the transformers make of it.
"""

import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

from confluent_kafka import KafkaException, TopicPartition
from tests.faults.transactions.journal import Journal
from tests.faults.transactions.reader import Got, Reader
from tests.faults.transactions.writer import Writer, name_of

if TYPE_CHECKING:
    from tests.faults.transactions.wire_writer import WireWriter

AnyWriter: TypeAlias = "Writer | WireWriter"

SOURCE, TARGET = "source", "target"
TRANSFORMERS, WATCHERS = "transformers", "watchers"
_MOST_SENDS = 4
_ABORTED = 0.15


class Client:
    def __init__(
        self, servers: str, name: str, process: int, partitions: int, pause: float, journal: Journal
    ) -> None:
        self._servers: str = servers
        self._name: str = name
        self._process: int = process
        self._partitions: int = partitions
        self._pause: float = pause
        self._journal: Journal = journal
        self._rng: random.Random = random.Random(process)
        self._is_over: bool = False

    def stop(self, _: int, __: FrameType | None) -> None:
        self._is_over = True

    def produce(self) -> None:
        """Transactions that only send."""
        writer = self._writer()
        while not self._is_over:
            self._rest()
            writer.begin()
            self._attempt(writer, lambda: self._send_some(writer, SOURCE))

    def mix(self) -> None:
        """Transactions of sends and polls in any order; the polls are of everything, from the beginning."""
        writer, reader = self._writer(), self._reader(f"unused-{self._name}")
        reader.assign(dict.fromkeys(self._keys(SOURCE), 0))
        while not self._is_over:
            self._rest()
            writer.begin()
            self._attempt(writer, lambda: self._mix_some(writer, reader))

    def transform(self) -> None:
        """Consume, send, and commit the offsets, all in one transaction."""
        writer, reader = self._writer(), self._reader(TRANSFORMERS)
        reader.subscribe([SOURCE])
        while not self._is_over:
            writer.begin()
            reader = self._transform_once(writer, reader)
        reader.quietly(reader.consumer.close)

    def read(self) -> None:
        """Everything from the beginning, by assignment, going back now and then."""
        reader = self._reader(f"unused-{self._name}")
        every = [*self._keys(SOURCE), *self._keys(TARGET)]
        reader.assign(dict.fromkeys(every, 0))
        reached = dict.fromkeys(every, 0)
        while not self._is_over:
            for key, (offsets, _) in reader.poll(self._rng.choice((1, 10, 200)), 0.1).items():
                reached[key] = max(reached[key], offsets[-1] + 1)
            if self._rng.random() < 0.01:
                key = self._rng.choice(every)
                reader.seek(key, max(0, reached[key] - self._rng.randrange(300)))
            elif self._rng.random() < 0.002:
                some = self._rng.sample(every, self._rng.randint(1, len(every)))
                reader.assign({key: max(0, reached[key] - 300) for key in some})

    def watch(self) -> None:
        """Everything as a member of a group, with offsets committed after reading."""
        reader = self._reader(WATCHERS)
        reader.subscribe([SOURCE, TARGET])
        while not self._is_over:
            if reader.poll(100, 0.1) and self._rng.random() < 0.2:
                reader.quietly(lambda: reader.consumer.commit(asynchronous=False))
        reader.quietly(reader.consumer.close)

    # --- steps -----------------------------------------------------------------------------------------

    def _attempt(self, writer: AnyWriter, steps: Callable[[], None], group: str | None = None) -> bool:
        """True when the transaction is committed."""
        try:
            steps()
        except KafkaException as error:
            writer.abort(name_of(error))
            return False
        if self._rng.random() < _ABORTED:
            writer.abort()
            return False
        return writer.commit(group)

    def _send_some(self, writer: AnyWriter, topic: str) -> None:
        for _ in range(self._rng.randint(1, _MOST_SENDS)):
            writer.send(self._rng.choice(self._keys(topic)))
            if self._rng.random() < 0.3:  # so that there is something to be seen too early
                writer.flush()
                self._rest()

    def _mix_some(self, writer: AnyWriter, reader: Reader) -> None:
        for _ in range(self._rng.randint(1, _MOST_SENDS)):
            if self._rng.random() < 0.5:
                reader.poll(100, 0.05, writer.number)
                continue
            writer.send(self._rng.choice(self._keys(SOURCE)))
            if self._rng.random() < 0.7:
                writer.flush()
        self._rest()

    def _transform_once(self, writer: AnyWriter, reader: Reader) -> Reader:
        """The reader to go on with."""
        got: Got = {}
        rebalances = reader.rebalances
        while not got and not self._is_over:
            rebalances = reader.rebalances
            got = reader.poll(30, 0.2, writer.number)
        if not got:
            return reader
        if reader.rebalances != rebalances:
            # Some of it belongs to another member by now, and the membership at hand is the new one.
            writer.abort("rebalance")
            return self._back_to_the_committed(reader)
        if self._attempt(writer, lambda: self._transform_some(writer, reader, got), TRANSFORMERS):
            return reader
        if self._rng.random() < 0.2:
            return self._rejoined(reader)
        return self._back_to_the_committed(reader)

    def _transform_some(self, writer: AnyWriter, reader: Reader, got: Got) -> None:
        membership = reader.membership
        assert membership is not None
        self._send_some(writer, TARGET)
        offsets = {key: offsets[-1] + 1 for key, (offsets, _) in got.items()}
        writer.send_offsets(offsets, membership, TRANSFORMERS)

    def _back_to_the_committed(self, reader: Reader) -> Reader:
        """What was not committed is read again, by whom it belongs to now."""
        held = [TopicPartition(each.topic, each.partition) for each in reader.consumer.assignment()]
        found: list[TopicPartition] = []
        if held:
            reader.quietly(lambda: found.extend(reader.consumer.committed(held, 5.0)))
        if len(found) < len(held) or any(each.error is not None for each in found):
            return self._rejoined(reader)
        for each in found:
            reader.seek(f"{each.topic}-{each.partition}", max(each.offset, 0))
        return reader

    def _rejoined(self, reader: Reader) -> Reader:
        reader.quietly(reader.consumer.close)
        reader = self._reader(TRANSFORMERS)
        reader.subscribe([SOURCE])
        return reader

    def _writer(self) -> AnyWriter:
        """Of version 1 or 2, by the name: all that use one transactional id are of one version.

        Otherwise a zombie of version 2 can get the epoch of its successor of version 1, in Apache Kafka too:
        its EndTxn with the epoch before is taken for a repeated one (KIP-890). In a cluster all are of
        version 1: `WireWriter` speaks to one broker.
        """
        if int(self._name.rpartition("-")[2]) % 2 or "," in self._servers:
            return Writer(self._servers, self._name, self._process, self._journal)
        from tests.faults.transactions.wire_writer import WireWriter  # slow to import, and not for all

        return WireWriter(self._servers, self._name, self._process, self._journal)

    def _reader(self, group: str) -> Reader:
        return Reader(self._servers, group, self._journal)

    def _keys(self, topic: str) -> list[str]:
        return [f"{topic}-{partition}" for partition in range(self._partitions)]

    def _rest(self) -> None:
        time.sleep(self._rng.expovariate(1 / self._pause))


def main() -> None:
    role, servers, name, process, partitions, pause, journal = sys.argv[1:]
    client = Client(servers, name, int(process), int(partitions), float(pause), Journal(Path(journal)))
    signal.signal(signal.SIGTERM, client.stop)
    roles = {
        "producer": client.produce,
        "mixer": client.mix,
        "transformer": client.transform,
        "reader": client.read,
        "watcher": client.watch,
    }
    roles[role]()


if __name__ == "__main__":
    main()
