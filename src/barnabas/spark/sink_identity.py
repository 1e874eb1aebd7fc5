"""The names under which a sink is known to the brokers: its group, and a transactional id for each task.

A sink is what one application (a query, or a `txnAppId`) writes to one target (the option `topic`, or the
topics that the column names). Every name begins with the prefix, for ACLs, and carries a digest of prefix,
application and target before its last part. Two names are equal only if all parts are: `app-1` and task 1 of
`app` share nothing, and neither do two targets of one application. The cluster is no part of a name: groups
and transactions live in the cluster that they protect.
"""

import hashlib
import json
from dataclasses import dataclass

_DIGITS = 12
_OF_DECISIONS = "sink"


@dataclass(frozen=True, slots=True)
class SinkIdentity:
    prefix: str
    application: str
    """The id of a streaming query, or a `txnAppId`."""
    topic: str | None
    """The option; None if the rows name their topics."""
    is_stream: bool = True

    @property
    def group(self) -> str:
        """The group that holds the driver's decision."""
        return f"{self._base}-{_OF_DECISIONS}"

    def transactional_id(self, task: int) -> str:
        """Also the name of the task's progress group."""
        return f"{self._base}-{task}"

    @property
    def target(self) -> str:
        """For messages."""
        return "the topics of the column" if self.topic is None else f"topic {self.topic}"

    @property
    def _base(self) -> str:
        parts = json.dumps([self.prefix, self.application, self.topic, self.is_stream])
        digest = hashlib.sha256(parts.encode()).hexdigest()[:_DIGITS]
        return f"{self.prefix}-{self.application}-{digest}"
