import pytest
from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.unit.storage.support import ROOT

from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.txn_index import AbortedTxn, TxnIndex, decode, encode

FIRST = AbortedTxn(1, 4, 7, 8)
SECOND = AbortedTxn(2, 5, 15, 16)
PATH = ROOT / "00000000000000000000.txnindex"


@pytest.fixture
def fs() -> FaultyFileSystem:
    fs = FaultyFileSystem()
    fs.makedirs(ROOT)
    return fs


def test_an_entry_has_kafkas_34_bytes() -> None:
    raw = "0000 0000000000000001 0000000000000004 0000000000000007 0000000000000008"
    assert encode([FIRST]) == bytes.fromhex(raw)
    assert decode(encode([FIRST, SECOND])) == [FIRST, SECOND]


def test_there_is_no_file_before_the_first_aborted_transaction(fs: FaultyFileSystem) -> None:
    index = TxnIndex(ROOT, 0, fs, exists=False)
    assert index.entries == []
    index.truncate_to(0)
    assert not fs.exists(PATH)


def test_entries_are_read_back(fs: FaultyFileSystem) -> None:
    index = TxnIndex(ROOT, 0, fs, exists=False)
    index.append(FIRST)
    index.append(SECOND)
    assert TxnIndex(ROOT, 0, fs, exists=True).entries == [FIRST, SECOND]


def test_truncation_drops_transactions_that_ended_at_or_after_the_offset(fs: FaultyFileSystem) -> None:
    index = TxnIndex(ROOT, 0, fs, exists=False)
    index.append(FIRST)
    index.append(SECOND)
    index.truncate_to(15)
    assert index.entries == [FIRST]
    assert fs.size(PATH) == 34


def test_collect_finds_transactions_that_touch_the_range_and_says_when_that_is_all(
    fs: FaultyFileSystem,
) -> None:
    index = TxnIndex(ROOT, 0, fs, exists=False)
    index.append(FIRST)
    index.append(SECOND)
    assert index.collect(0, 5) == ([FIRST], True)
    assert index.collect(8, 100) == ([SECOND], False)
    assert index.collect(0, 4) == ([], True)


@pytest.mark.parametrize("data", [b"x" * 33, b"\x00\x01" + bytes(32)], ids=["torn", "unknown version"])
def test_a_damaged_index_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptIndex):
        decode(data)
