"""A batch that is sent to a broker, and the two ways in which it is encoded again.

Under another producer epoch it begins at another sequence; a batch that is too large for its topic is cut in
two, whose sequences together are those of the whole. Both are rare: the batch is decoded and encoded by the
plain ways of `barnabas.records`.
"""

from dataclasses import dataclass, replace

from crc32c import crc32c

from barnabas.records.batch import ATTRIBUTES_OFFSET, CODEC_MASK, HEADER, HEADER_SIZE, TRANSACTIONAL_MASK
from barnabas.records.builder import build_batch
from barnabas.records.record import decode_records
from barnabas.spark.wire.identity import ProducerIdentity
from barnabas.wire.outgoing_request import Buffer

SEQUENCES = 1 << 31
NO_SEQUENCE = -1


def sequence_after(sequence: int, count: int) -> int:
    """They go round; without idempotence there are none."""
    return NO_SEQUENCE if sequence < 0 else (sequence + count) % SEQUENCES


@dataclass(frozen=True, slots=True, eq=False)
class PendingBatch:
    head: bytes
    """The 61 bytes of its header."""
    body: Buffer
    count: int
    sequence: int
    deadline: float
    """When it should be delivered, by the clock of the outbox."""

    @property
    def size(self) -> int:
        return len(self.head) + len(self.body)

    @property
    def next_sequence(self) -> int:
        return sequence_after(self.sequence, self.count)

    def with_producer(self, identity: ProducerIdentity, sequence: int) -> "PendingBatch":
        """The same records, from another producer."""
        fields = list(HEADER.unpack(self.head))
        fields[9:12] = [identity.producer_id, identity.epoch, sequence]
        tail = HEADER.pack(*fields)[ATTRIBUTES_OFFSET:]
        fields[4] = crc32c(self.body, crc32c(tail))
        return replace(self, head=HEADER.pack(*fields), sequence=sequence)

    def halves(self) -> tuple["PendingBatch", "PendingBatch"]:
        """Two batches of half the records each."""
        fields = HEADER.unpack(self.head)
        attributes, identity = fields[5], ProducerIdentity(fields[9], fields[10])
        records = decode_records(b"".join((self.head, self.body)))
        middle = len(records) // 2
        first, second = records[:middle], records[middle:]
        built = []
        for part, sequence in (
            (first, self.sequence),
            (second, sequence_after(self.sequence, len(first))),
        ):
            raw = build_batch(
                part,
                compression=attributes & CODEC_MASK,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=sequence,
                transactional=bool(attributes & TRANSACTIONAL_MASK),
            )
            built.append(
                PendingBatch(raw[:HEADER_SIZE], raw[HEADER_SIZE:], len(part), sequence, self.deadline)
            )
        return built[0], built[1]
