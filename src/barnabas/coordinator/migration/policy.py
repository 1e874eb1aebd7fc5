"""Which way groups may go while they have members: `group.consumer.migration.policy`."""

from barnabas.coordinator.group_settings import GroupSettings

BIDIRECTIONAL = "bidirectional"
UPGRADE = "upgrade"
DOWNGRADE = "downgrade"


def may_upgrade(settings: GroupSettings) -> bool:
    return settings.consumer_migration_policy in (BIDIRECTIONAL, UPGRADE)


def may_downgrade(settings: GroupSettings) -> bool:
    return settings.consumer_migration_policy in (BIDIRECTIONAL, DOWNGRADE)


def may_mix(settings: GroupSettings) -> bool:
    """Whether members that use the classic protocol may be in a consumer group at all."""
    return may_upgrade(settings) or may_downgrade(settings)
