"""What an answer to Produce means for a batch. A pure decision, after Kafka's producer.

A batch that the broker already has is a success. A sequence out of order follows from an earlier failure, if
there was one, and is retriable with it. Without one the broker has lost the producer's state. An idempotent
producer then continues with a new epoch. A transaction cannot continue, unless the broker removed the
producer's state only because retention deleted its last records.
"""

from enum import Enum, auto

from barnabas.client.errors import BrokerError

_NONE, _MESSAGE_TOO_LARGE, OUT_OF_ORDER, _DUPLICATE, _UNKNOWN_PRODUCER = 0, 10, 45, 46, 59


class Verdict(Enum):
    DELIVERED = auto()
    AGAIN = auto()
    """As it is."""
    RENEW = auto()
    """Again, with sequences from 0, under a new epoch where the epoch is the producer's own."""
    SPLIT = auto()
    FATAL = auto()


def verdict_on(
    code: int,
    *,
    is_first_failure: bool,
    is_idempotent: bool,
    is_transactional: bool,
    log_start_offset: int,
    last_offset: int,
) -> Verdict:
    """`last_offset` is the last that the partition is known to have of us; `log_start_offset` is answered."""
    if code in (_NONE, _DUPLICATE):
        return Verdict.DELIVERED
    if code == _MESSAGE_TOO_LARGE:
        return Verdict.SPLIT
    if code == OUT_OF_ORDER and is_idempotent:
        if not is_first_failure:
            return Verdict.AGAIN
        return Verdict.FATAL if is_transactional else Verdict.RENEW
    if code == _UNKNOWN_PRODUCER and is_idempotent:
        if log_start_offset < 0 or not is_first_failure:
            return Verdict.AGAIN
        return Verdict.RENEW if not is_transactional or last_offset < log_start_offset else Verdict.FATAL
    return Verdict.AGAIN if BrokerError(code).is_retriable else Verdict.FATAL
