import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.runtime.internal_topics import consumer_offsets, transaction_state


def factors(registered: int, **properties: str) -> tuple[int, int]:
    """Of both topics."""
    given = {key.replace("_", "."): value for key, value in properties.items()}
    config = BrokerConfig.from_properties({"log.dirs": "/data/a,/data/b", **given})
    return (
        consumer_offsets(config, registered).replication_factor,
        transaction_state(config, registered).replication_factor,
    )


@pytest.mark.parametrize(("registered", "expected"), [(0, 1), (1, 1), (2, 2), (3, 3), (5, 3)])
def test_broker_with_its_own_store_takes_the_brokers_there_are(registered: int, expected: int) -> None:
    assert factors(registered) == (expected, expected)
    own = "/data/b/.barnabas/metadata.db"
    assert factors(registered, barnabas_metadata_store_path=own) == (expected, expected)


def test_first_of_several_brokers_does_not_create_topics_with_one_replica() -> None:
    assert factors(1, barnabas_metadata_store_path="/data/shared/metadata.db") == (3, 3)


def test_configured_factors_count_anyway() -> None:
    own = {"offsets_topic_replication_factor": "4", "transaction_state_log_replication_factor": "1"}
    assert factors(2, **own) == (4, 1)
    assert factors(2, **own, barnabas_metadata_store_path="/data/shared/metadata.db") == (4, 1)
