from pathlib import Path

import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import StorageError
from barnabas.broker.adoption import adopt


def _config(directory: Path) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {"listeners": "PLAINTEXT://localhost:9092", "log.dirs": str(directory), "node.id": "0"}
    )


def _make(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).mkdir()


def test_partitions_of_other_brokers_are_registered_empty(tmp_path: Path) -> None:
    _make(tmp_path, "orders-1", "orders-4", "single-0")
    assert adopt(_config(tmp_path), tmp_path) == {"orders": 5, "single": 1}


@pytest.mark.parametrize("number", [1_000_000, 10**25])
def test_directory_that_would_make_a_million_partitions_is_refused(tmp_path: Path, number: int) -> None:
    _make(tmp_path, "orders-0", f"foo-{number}")
    with pytest.raises(StorageError, match=f"foo-{number} would make {number + 1} partitions"):
        adopt(_config(tmp_path), tmp_path)
    (tmp_path / f"foo-{number}").rmdir()
    assert adopt(_config(tmp_path), tmp_path) == {"orders": 1}


def test_many_missing_partitions_are_accepted_where_many_are_found(tmp_path: Path) -> None:
    _make(tmp_path, *(f"orders-{number}" for number in range(0, 2000, 10)))
    assert adopt(_config(tmp_path), tmp_path) == {"orders": 1991}
