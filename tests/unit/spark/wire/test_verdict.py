import pytest

from barnabas.spark.wire.verdict import Verdict, verdict_on

OUT_OF_ORDER, DUPLICATE, UNKNOWN_PRODUCER = 45, 46, 59
AGAIN, RENEW, FATAL = Verdict.AGAIN, Verdict.RENEW, Verdict.FATAL


def _verdict(
    code: int, *, first: bool = True, transactional: bool = False, start: int = 0, last: int = 5
) -> Verdict:
    return verdict_on(
        code,
        is_first_failure=first,
        is_idempotent=True,
        is_transactional=transactional,
        log_start_offset=start,
        last_offset=last,
    )


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (0, Verdict.DELIVERED),
        (DUPLICATE, Verdict.DELIVERED),
        (10, Verdict.SPLIT),
        (3, AGAIN),
        (6, AGAIN),
        (7, AGAIN),
        (19, AGAIN),
        (20, AGAIN),
        (51, AGAIN),
        (56, AGAIN),
        (29, FATAL),
        (47, FATAL),
        (53, FATAL),
        (87, FATAL),
        (90, FATAL),
        (120, FATAL),
    ],
)
def test_code_alone_decides(code: int, verdict: Verdict) -> None:
    assert _verdict(code) is verdict
    assert _verdict(code, first=False, transactional=True) is verdict


def test_sequence_out_of_order_is_the_echo_of_an_earlier_failure() -> None:
    assert _verdict(OUT_OF_ORDER, first=False) is AGAIN
    assert _verdict(OUT_OF_ORDER, first=False, transactional=True) is AGAIN


def test_sequence_out_of_order_without_a_failure_means_that_the_broker_forgot() -> None:
    assert _verdict(OUT_OF_ORDER) is RENEW
    assert _verdict(OUT_OF_ORDER, transactional=True) is FATAL


def test_unknown_producer_whose_records_retention_took_goes_on() -> None:
    assert _verdict(UNKNOWN_PRODUCER, transactional=True, start=10, last=5) is RENEW
    assert _verdict(UNKNOWN_PRODUCER, transactional=True, start=3, last=5) is FATAL
    assert _verdict(UNKNOWN_PRODUCER, start=3, last=5) is RENEW
    assert _verdict(UNKNOWN_PRODUCER, start=-1) is AGAIN


def test_without_idempotence_a_sequence_error_is_final() -> None:
    assert (
        verdict_on(
            OUT_OF_ORDER,
            is_first_failure=True,
            is_idempotent=False,
            is_transactional=False,
            log_start_offset=0,
            last_offset=0,
        )
        is FATAL
    )
