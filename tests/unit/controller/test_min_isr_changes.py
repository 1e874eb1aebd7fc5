"""Changes of min.insync.replicas end the eligible leader replicas."""

import pytest
from tests.unit.controller.members import Members

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import ErrorCode
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.requests import ConfigAlteration, ConfigOperation, ConfigResult, ResourceType

_KEY = "min.insync.replicas"


def with_elr(members: Members, settings: BrokerConfig) -> ConfigAdmin:
    members.create(1, 2, configs={_KEY: "2"})
    members.stop(2)
    members.all[0].react()
    assert members.all[0].partition.elr == (2,)
    return ConfigAdmin(members.all[0].cluster, settings)


def altered(admin: ConfigAdmin, resource: int, name: str, value: str | None, key: str = _KEY) -> ConfigResult:
    operation = ConfigOperation.DELETE if value is None else ConfigOperation.SET
    (result,) = admin.alter([ConfigAlteration(resource, name, ((key, operation, value),))])
    return result


@pytest.mark.parametrize(
    ("resource", "name", "value"),
    [(ResourceType.TOPIC, "t", "1"), (ResourceType.TOPIC, "t", None), (ResourceType.BROKER, "", "2")],
)
def test_change_of_the_topic_or_of_the_cluster_ends_the_elr(
    members: Members, settings: BrokerConfig, resource: int, name: str, value: str | None
) -> None:
    admin = with_elr(members, settings)
    before = members.all[0].partition
    assert altered(admin, resource, name, value).error is ErrorCode.none
    after = members.all[0].partition
    assert after == before._replace(elr=(), state_version=before.state_version + 1)


def test_other_changes_keep_the_elr(members: Members, settings: BrokerConfig) -> None:
    admin = with_elr(members, settings)
    assert altered(admin, ResourceType.TOPIC, "t", "5", "retention.ms").error is ErrorCode.none
    assert altered(admin, ResourceType.TOPIC, "t", "2").error is ErrorCode.none
    assert members.all[0].partition.elr == (2,)


def test_setting_of_one_broker_cannot_change_and_that_of_the_cluster_not_be_removed(
    members: Members, settings: BrokerConfig
) -> None:
    admin = with_elr(members, settings)
    own = altered(admin, ResourceType.BROKER, "0", "2")
    assert own.error is ErrorCode.invalid_config
    assert own.message == "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
    assert altered(admin, ResourceType.BROKER, "", None).error is ErrorCode.none  # There is none.
    assert altered(admin, ResourceType.BROKER, "", "2").error is ErrorCode.none
    removed = altered(admin, ResourceType.BROKER, "", None)
    assert removed.error is ErrorCode.invalid_config
    assert removed.message == "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."


def test_controller_ends_an_elr_that_the_setting_does_not_allow(members: Members) -> None:
    """The setting was changed by hand, or its writer did not know of the newest ELR."""
    members.create(1, 2, configs={_KEY: "2"})
    members.stop(2)
    members.all[0].react()
    store = members.all[0].cluster.store
    store.set("/config/topics/t", b'{"version":1,"config":{"min.insync.replicas":"1"}}')
    members.all[0].react()
    assert members.all[0].partition.elr == ()
