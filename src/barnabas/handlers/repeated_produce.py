"""A shortcut for the request a producer sends again and again.

From one Produce of a connection to the next usually only the correlation id and the records differ: client id,
acks, timeout, topic and partition are the same bytes. After such a request (one topic, one partition) was
handled the long way, its bytes around the records are remembered with the partition they lead to; a request
that has the same bytes goes straight to `Partition.append`, and its answer is the remembered one with other
numbers. Measured: a third of the time of the long way. Whatever is unusual (an error, tags, another shape)
is left to the long way, which decides the same from the beginning.
"""

import struct

from barnabas.base.errors import KafkaError
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.storage.append_info import AppendInfo
from barnabas.wire.primitives import read_unsigned_varint
from barnabas.wire.produce import FIRST_FLEXIBLE, FIRST_WITH_ZSTD, PartitionResult, TopicResult, encode_produce_response

_INT32 = struct.Struct(">i")
_CORRELATION_AT = 4
_AFTER_CORRELATION = 8
_NO_TAGS = b"\x00\x00\x00"
"""Of the partition, the topic and the request."""
_ATTRIBUTES_LOW_BYTE = 22
_TRANSACTIONAL = 0x10
_NUMBERS = struct.Struct(">qqq")


class RepeatedProduce:
    """What one connection produced last. Belongs to `Connection.state`."""

    __slots__ = (
        "_acks",
        "_allow_zstd",
        "_answer_end",
        "_answer_head",
        "_answer_start",
        "_head",
        "_is_flexible",
        "_partition",
        "_partitions",
        "_prefix",
        "_table_version",
        "result_of",
    )
