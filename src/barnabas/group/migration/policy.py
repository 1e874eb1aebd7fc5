"""The allowed migrations of groups with members: `group.consumer.migration.policy`."""

from barnabas.group.settings import GroupSettings

BIDIRECTIONAL = "bidirectional"
UPGRADE = "upgrade"
DOWNGRADE = "downgrade"


def may_upgrade(settings: GroupSettings) -> bool:
    return settings.consumer_migration_policy in (BIDIRECTIONAL, UPGRADE)


def may_downgrade(settings: GroupSettings) -> bool:
    return settings.consumer_migration_policy in (BIDIRECTIONAL, DOWNGRADE)


def may_mix(settings: GroupSettings) -> bool:
    """Whether members that use the classic protocol may be in a consumer group."""
    return may_upgrade(settings) or may_downgrade(settings)
