"""DeleteGroups for the groups of one shard: deletes groups without members, with all of their offsets."""

import logging
from collections.abc import Iterable

from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.group.groups import Groups
from barnabas.group.offsets.offsets import Offsets
from barnabas.group.records import GroupRecord
from barnabas.runtime.outcome import Outcome
from barnabas.wire import Reply

logger = logging.getLogger("coordinator")


def delete_groups(groups: Groups, offsets: Offsets, group_ids: Iterable[str]) -> Outcome[list[Reply]]:
    """Returns one result per group, in request order. A group that is named twice is deleted once."""
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
