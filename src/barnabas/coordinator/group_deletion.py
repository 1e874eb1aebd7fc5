"""DeleteGroups over the groups of one shard: a group without members goes, with all of its offsets."""

import logging
from collections.abc import Iterable

from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.coordinator.group_records import GroupRecord
from barnabas.coordinator.groups import Groups
from barnabas.coordinator.offsets.offsets import Offsets
from barnabas.coordinator.outcome import Outcome
from barnabas.wire import Reply

logger = logging.getLogger("coordinator")


def delete_groups(groups: Groups, offsets: Offsets, group_ids: Iterable[str]) -> Outcome[list[Reply]]:
    """One result a group, in the order asked; a group that is asked for twice is deleted once."""
    results: list[Reply] = []
    records: list[GroupRecord] = []
    for group_id in dict.fromkeys(group_ids):
        error = ErrorCode.none
        try:
            group = groups.get(group_id)
            group.validate_delete()
            records.extend(offsets.delete_all(group_id))
            records.extend(group.tombstones())
            logger.info("Group %s is deleted", group_id)
        except KafkaError as refused:
            error = refused.code
        results.append(Reply(group_id=group_id, error_code=error))
    return Outcome(results, records)
