"""Streams start, run, and lose their drivers, workers and checkpoints."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.faults.random_life.violation import require
from tests.faults.stream_life.checkpoint import Checkpoint
from tests.faults.stream_life.demands import LOSS, POISON, STALE, demand_of, kind_of
from tests.faults.stream_life.driver import POINTS, Killed, Poison
from tests.faults.stream_life.scene import Scene
from tests.faults.stream_life.step import Step
from tests.faults.stream_life.stream import Stream

from barnabas.client.errors import ClientError
from barnabas.spark.wire import partition_fetch
from barnabas.spark.wire.single_fetch import Fetched, parse_fetched

KINDS = ("sink", "loose", "shared", "app", "pair")
_INSIDE = ("decided", "between")


def start(scene: Scene, step: Step) -> None:
    """A new query in a free slot. The names of applications are such that `<app>-<task>` is another one's."""
    if step.stream_id in scene.streams:
        return
    scene.generation += 1
    number, kind = scene.generation, step.option
    targets: tuple[str, ...] = ("shared",) if kind == "shared" else (f"out-{number}",)
    if kind == "pair":
        targets = (f"out-{number}", f"copy-{number}")
    application = None
    if kind in ("app", "pair"):
        taken = {stream.application for stream in (*scene.streams.values(), *scene.retired)}
        names = ("app", "app-0", "app-1", *(f"app-{number}-x" for number in range(number + 1)))
        application = next(name for name in names if name not in taken)
    for target in targets:
        scene.ensure_target(target)
    scene.streams[step.stream_id] = Stream(
        f"s{number}",
        Checkpoint(scene.directory / f"checkpoint-{number}"),
        targets,
        application,
        kind != "loose",
    )
    scene.counts["started"] += 1


def run(scene: Scene, step: Step) -> None:
    """To the end of the data, or to the error that there must be."""
    stream = scene.streams.get(step.stream_id)
    if stream is not None:
        run_to_the_end(scene, step.stream_id, stream, way=step.option)
        scene.counts["ran"] += 1


def run_to_the_end(scene: Scene, stream_id: int, stream: Stream, *, way: str = "") -> bool:
    """Whether it came there. Else it ended with an error that it must end with, or may.

    Ways: `worker`, the first worker of every task dies; `slow`, a user function takes its time.
    """
    demand = demand_of(stream, scene.source)
    changed = {"worker": {"worker_dies": True}, "slow": {"is_slow": True}}.get(way, {})
    driver = scene.driver(stream, scene.servers, scene.source, **changed)
    try:
        with _withholding(scene):
            driver.run()
    except ClientError as error:
        found, text = kind_of(error), str(error)
    except Exception as error:
        if kind_of(error) not in (LOSS, POISON):
            raise
        found, text = kind_of(error), str(error)
    else:
        wanted = " or ".join(sorted(demand.must))
        require(not demand.must, f"{stream.label} ends well, and must end with {wanted}")
        stream.suspicion = ""
        return True
    allowed = demand.must | demand.may
    require(found in allowed, f"{stream.label} fails with {found} ({text[:300]}), and must not")
    scene.counts[found] += 1
    _answer(scene, stream_id, stream, found)
    return False


def _answer(scene: Scene, stream_id: int, stream: Stream, found: str) -> None:
    """What its user does then."""
    if found == POISON:
        stream.skips_poison = True
    elif found == STALE or (stream.checkpoint.has_pending and _is_of_another_topic(scene, stream)):
        scene.retire(stream_id)
    else:
        stream.fails_on_data_loss = False


def _is_of_another_topic(scene: Scene, stream: Stream) -> bool:
    position = stream.checkpoint.position(stream.checkpoint.last_logged)
    return position is not None and position.incarnation != scene.source.incarnation


@contextmanager
def _withholding(scene: Scene) -> Iterator[None]:
    """The broker answers some fetches without an error and without records."""
    real = parse_fetched

    def parsed(version: int, answer: memoryview) -> Fetched:
        fetched = real(version, answer)
        if scene.withheld and len(fetched.partition.records):
            scene.withheld -= 1
            return dataclasses.replace(fetched, partition=fetched.partition._replace(records=memoryview(b"")))
        return fetched

    with patch.object(partition_fetch, "parse_fetched", parsed):
        yield
    scene.withheld = 0


# --- deaths ------------------------------------------------------------------------------------------------


def kill(scene: Scene, step: Step) -> None:
    """The driver dies at a point of its next batch; with `broker-`, the broker dies there instead."""
    stream = scene.streams.get(step.stream_id)
    if stream is None or _must_fail(scene, stream):
        return
    of_broker, point = step.option.startswith("broker-"), step.option.removeprefix("broker-")
    assert point in POINTS, point
    driver = scene.driver(stream, scene.servers, scene.source, dies_in=point if point in _INSIDE else "")
    try:
        for reached in driver.batches():
            if reached == point and not of_broker:
                break
            if reached == point:
                scene.kill_broker()
                of_broker, point = False, ""
    except Killed:
        pass
    except Poison:
        require(step.option.startswith("broker-"), f"{stream.label} reads a poison record that had expired")
        stream.skips_poison = True  # a record that had expired came back with the broker
    except ClientError as error:
        require(stream.suspicion and kind_of(error) == STALE, f"{stream.label} fails with {kind_of(error)}")
        scene.retire(step.stream_id)
    scene.counts[f"killed {step.option}"] += 1


def zombie(scene: Scene, step: Step) -> None:
    """A driver is taken for dead before it commits; the next one does its work, then the first goes on."""
    stream = scene.streams.get(step.stream_id)
    if stream is None or stream.suspicion or _must_fail(scene, stream):
        return
    first = scene.driver(stream, scene.servers, scene.source).batches()
    if not any(reached == "written" for reached in first):
        return
    run_to_the_end(scene, step.stream_id, stream)
    try:
        next(first, None)
    except (ClientError, OSError):
        scene.counts["fenced"] += 1
    scene.counts["zombies"] += 1


def _must_fail(scene: Scene, stream: Stream) -> bool:
    return bool(demand_of(stream, scene.source).must or demand_of(stream, scene.source).may - {STALE})


# --- checkpoints -------------------------------------------------------------------------------------------


def back_up(scene: Scene, step: Step) -> None:
    stream = scene.streams.get(step.stream_id)
    if stream is not None and stream.checkpoint.last_logged >= 0:
        stream.checkpoint.copy_to(_backup_of(stream))
        scene.counts["backed up"] += 1


def restore(scene: Scene, step: Step) -> None:
    """The backup replaces the checkpoint. Rows that were written since stay in the target."""
    stream = scene.streams.get(step.stream_id)
    if stream is None or not _backup_of(stream).exists():
        return
    backup = Checkpoint(_backup_of(stream))
    if backup.last_committed < stream.checkpoint.last_logged:
        stream.suspicion = "restored"
    backup.copy_to(stream.checkpoint.path)
    scene.counts["restored"] += 1


def copy(scene: Scene, step: Step) -> None:
    """A copy of the checkpoint, for a trial that writes to a topic of its own."""
    stream = scene.streams.get(step.stream_id)
    if stream is None or step.amount in scene.streams or stream.checkpoint.last_logged < 0:
        return
    scene.generation += 1
    number = scene.generation
    target = f"out-{number}"
    scene.ensure_target(target)
    checkpoint = stream.checkpoint.copy_to(scene.directory / f"checkpoint-{number}")
    scene.streams[step.amount] = dataclasses.replace(
        stream,
        label=f"s{number}",
        checkpoint=checkpoint,
        targets=(target,),
        suspicion="copied",
        expectations={},
    )
    scene.counts["copied"] += 1


def delete(scene: Scene, step: Step) -> None:
    """The checkpoint is deleted: everything is read again, under the same `txnAppId` if there is one.

    Its backups are deleted too: without a `txnAppId` they are those of another query, and no sink can know
    that the rows of the two are the same.
    """
    stream = scene.streams.get(step.stream_id)
    if stream is None or stream.checkpoint.last_logged < 0:
        return
    scene.generation += 1
    stream.checkpoint.delete()
    Checkpoint(_backup_of(stream)).delete()
    is_known = stream.application is not None and any(each.may for each in stream.expectations.values())
    scene.retired.append(stream)
    scene.streams[step.stream_id] = dataclasses.replace(
        stream,
        label=f"s{scene.generation}",
        suspicion="checkpoint deleted" if is_known else "",
        expectations={},
    )
    scene.counts["deleted"] += 1


def _backup_of(stream: Stream) -> Path:
    return stream.checkpoint.path.with_name(f"{stream.checkpoint.path.name}.backup")
