"""Short lives, each with one thing that happens to streams."""

from tests.faults.stream_life.driver import POINTS
from tests.faults.stream_life.step import Step

_MORE = (Step("produce", amount=3), Step("produce", partition=1, amount=3))


def _begun(kind: str) -> list[Step]:
    """A stream that has written its first batch."""
    return [Step("start", option=kind), *_MORE, Step("run")]


TRACES: dict[str, list[Step]] = {
    "a driver is killed at every point": [
        Step("start", option="sink"),
        *(step for point in POINTS for step in (*_MORE, Step("kill", option=point))),
        Step("run"),
    ],
    "a driver of foreachBatch is killed at every point": [
        Step("start", option="pair"),
        *(step for point in POINTS for step in (*_MORE, Step("kill", option=point))),
        Step("run"),
    ],
    "a decided batch times out": [
        *(*_begun("sink"), *_MORE, Step("kill", option="decided"), Step("time_out"), Step("run")),
    ],
    "a decided batch times out, and the next driver is killed before its commit": [
        *(*_begun("sink"), *_MORE, Step("kill", option="decided"), Step("time_out")),
        *(Step("kill", option="written"), Step("run")),
    ],
    "a worker is killed": [Step("start", option="sink"), *_MORE, Step("run", option="worker")],
    "rows come slowly": [
        *(Step("start", option="sink"), *_MORE, Step("run", option="slow")),
        *(Step("start", 1, option="pair"), *_MORE, Step("run", 1, option="slow")),
    ],
    "a broker is killed before the commit": [*_begun("sink"), *_MORE, Step("kill", option="broker-written")],
    "a driver that was taken for dead goes on": [
        *_begun("sink"),
        *_MORE,
        Step("zombie"),
        *_MORE,
        Step("run"),
    ],
    "two writers share a target": [
        *(*_begun("shared"), Step("start", 1, option="shared"), *_MORE),
        *(Step("kill", option="written"), Step("run", 1), Step("run")),
    ],
    "a poison record is mended": [
        *(*_begun("sink"), Step("produce", amount=1, option="poison"), *_MORE, Step("run"), Step("run")),
    ],
    "records expire unread": [*_begun("sink"), *_MORE, Step("expire", amount=100), Step("run"), Step("run")],
    "an expired record comes back with a killed broker": [
        *(Step("start", option="sink"), *_MORE, Step("expire", amount=40), Step("kill", option="between")),
        *(Step("restart", option="kill"), Step("run")),
    ],
    "a partition of a decided batch that timed out expires": [
        *(Step("start", option="loose"), *_MORE, Step("kill", option="between"), Step("time_out")),
        *(Step("expire", amount=100), Step("run")),
    ],
    "partitions are added": [
        *_begun("sink"),
        Step("grow"),
        Step("produce", partition=2, amount=5),
        Step("run"),
    ],
    "a topic is created anew with more records": [
        *(*_begun("sink"), Step("recreate"), Step("produce", amount=9), Step("run"), Step("run")),
    ],
    "a topic is created anew, and losses are passed over": [
        *(*_begun("loose"), Step("recreate"), Step("produce", amount=9), Step("run")),
    ],
    "a broker withholds records": [
        Step("start", option="sink"),
        *_MORE,
        Step("withhold", amount=5),
        Step("run"),
    ],
    "a checkpoint is restored": [
        *(*_begun("sink"), Step("back_up"), *_MORE, Step("run"), *_MORE, Step("run"), *_MORE),
        *(Step("restore"), Step("run")),
    ],
    "a checkpoint is restored by one batch": [
        *(*_begun("sink"), Step("back_up"), *_MORE, Step("run"), *_MORE, Step("restore"), Step("run")),
    ],
    "a checkpoint of foreachBatch is restored": [
        *(*_begun("app"), Step("back_up"), *_MORE, Step("run"), *_MORE, Step("run"), *_MORE),
        *(Step("restore"), Step("run")),
    ],
    "a checkpoint of foreachBatch is restored by one batch": [
        *(*_begun("app"), Step("back_up"), *_MORE, Step("run"), *_MORE, Step("restore"), Step("run")),
    ],
    "a checkpoint is copied for another target": [
        *(*_begun("sink"), Step("copy", amount=1), *_MORE, Step("run"), *_MORE, Step("run", 1)),
    ],
    "a checkpoint of foreachBatch is copied for another target": [
        *(*_begun("app"), Step("copy", amount=1), *_MORE, Step("run"), *_MORE, Step("run", 1)),
    ],
    "a checkpoint is deleted": [*_begun("sink"), Step("delete"), Step("run")],
    "a checkpoint with a txnAppId is deleted": [*_begun("app"), Step("delete"), Step("run")],
    "one txnAppId has two targets": _begun("pair"),
    "the name of an application is that of another one's task": [
        *(Step("start", 0, option="app"), Step("start", 1, option="app"), *_MORE, Step("run", 1)),
        *(*_MORE, Step("run", 1), *_MORE, Step("run", 0)),
    ],
}
