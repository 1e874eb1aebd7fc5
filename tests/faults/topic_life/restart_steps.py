"""A broker ends, its files may be damaged, it starts again, and everything is looked for.

`option` says how it ends: clean, kill, power. `extras` say what happens to the files meanwhile:
`<way>:<kind>` damages files of a kind (see `damage`), `stray` puts a file among those of a partition, `tear`
leaves part of a batch behind a log (only after a kill), `front`, `swap` and `missing` change the directories.
"""

import logging
import random
from collections.abc import Callable
from pathlib import Path

from tests.faults.random_life.violation import Violation
from tests.faults.topic_life import damage, inspection, topic_steps, transaction_steps
from tests.faults.topic_life.machine import Machine
from tests.faults.topic_life.scene import Scene
from tests.faults.topic_life.step import Step

from barnabas.base.errors import KafkaError

_INTERNAL = ("__consumer_offsets", "__transaction_state")
Undo = Callable[[], None]
_logger = logging.getLogger(__name__)


async def restart(scene: Scene, step: Step) -> None:
    rng = random.Random(step.seed)
    await _end(scene, step.option, rng)
    _repair(scene)
    for extra in step.extras:
        if extra not in _ARRANGEMENTS:
            _spoil(scene, extra, step, rng)
    for extra in step.extras:
        if extra in _ARRANGEMENTS:
            await _try_arrangement(scene, extra)
    await _start(scene)
    for partition in scene.model.partitions():
        partition.has_restarted = True
    if step.option == "power":
        await _after_power_cut(scene)
    else:
        await inspection.check(scene, step)
    scene.count(step.option)


async def _end(scene: Scene, how: str, rng: random.Random) -> None:
    world = scene.world
    if how == "clean":
        await world.stop()
        scene.model.stopped()
    elif how == "kill":
        await world.kill()
    else:
        await world.cut_power(rng)


async def _start(scene: Scene) -> None:
    try:
        await scene.world.start()
    except (KafkaError, OSError) as error:
        raise Violation(f"the broker does not start: {error!r}") from error


async def _after_power_cut(scene: Scene) -> None:
    """Who produced idempotently or in transactions begins anew, under another id."""
    scene.idempotent.clear()
    for producer in list(scene.transactional.values()):
        transaction_steps.forsake(scene, producer)
    await transaction_steps.until_markers_are_written(scene)
    for topic in await inspection.check_after_power_cut(scene):
        await topic_steps.delete(scene, Step("delete", topic.name))


# --- files ---------------------------------------------------------------------------------------------


def _repair(scene: Scene) -> None:
    """Remove what took a partition out of service."""
    for path in scene.stray_files:
        if scene.world.fs.exists(path):
            scene.world.fs.unlink(path)
    scene.stray_files.clear()
    scene.coordinators_may_be_off = False
    for partition in scene.model.partitions():
        partition.may_be_offline = False


def _spoil(scene: Scene, extra: str, step: Step, rng: random.Random) -> None:
    fs, log_dirs = scene.world.fs, scene.world.log_dirs
    directories = damage.partition_directories(fs, log_dirs)
    if extra == "tear":
        for directory in directories:
            if rng.random() < 0.5 and step.option != "clean":
                damage.tear(fs, directory, rng)
    elif extra == "stray":
        if directories:
            path = rng.choice(directories) / damage.STRAY_FILE
            fs.write_bytes(path, b"remember the milk\n", sync=True)
            scene.stray_files.add(path)
            _allow_offline(scene, path.parent)
    else:
        way, _, kind = extra.partition(":")
        folders = [*log_dirs, *directories]
        found = [
            folder / name
            for folder in folders
            if fs.exists(folder)
            for name in sorted(fs.listdir(folder))
            if name == kind or (kind.startswith(".") and name.endswith(kind))
        ]
        chosen = found if rng.random() < 0.4 else rng.sample(found, min(len(found), 2))
        _note_damage(scene, kind, chosen)
        damage.apply(fs, chosen, way, rng)
        if chosen:
            scene.count("damaged")


def _note_damage(scene: Scene, kind: str, paths: list[Path]) -> None:
    if kind in (damage.LOG_STARTS, damage.LEADER_EPOCHS) and paths:
        for partition in scene.model.partitions():
            partition.start_damaged(is_checkpoint=kind == damage.LOG_STARTS)


def _allow_offline(scene: Scene, directory: Path) -> None:
    topic, _, number = directory.name.rpartition("-")
    if topic in _INTERNAL:
        scene.coordinators_may_be_off = True
    elif topic in scene.model.topics:
        scene.model.topics[topic].partitions[int(number)].may_be_offline = True


# --- directories ---------------------------------------------------------------------------------------


async def _try_arrangement(scene: Scene, arrangement: str) -> None:
    """Start with other directories: it refuses, and all is put back, or nothing is lost."""
    world = scene.world
    undo = _ARRANGEMENTS[arrangement](world)
    try:
        await world.start()
    except (KafkaError, OSError) as error:
        _logger.info("refused: %s", error)
        scene.count("refused")
        undo()
        return
    for partition in scene.model.partitions():
        partition.has_restarted = True
    await inspection.check(scene, Step("check"))
    await world.stop()
    scene.model.stopped()


def _put_in_front(world: Machine) -> Undo:
    usual, new = list(world.log_dirs), world.log_dirs[0].with_name("front")
    if new not in usual:
        world.log_dirs = [new, *usual]
    return lambda: setattr(world, "log_dirs", usual)


def _swap(world: Machine) -> Undo:
    usual = list(world.log_dirs)
    world.log_dirs = usual[::-1]
    return lambda: setattr(world, "log_dirs", usual)


def _replace_by_empty(world: Machine) -> Undo:
    """The last directory is not mounted: there is its empty mount point."""
    path = world.log_dirs[-1]
    hidden = path.with_name("unmounted")
    world.move(path, hidden)
    world.fs.makedirs(path)

    def undo() -> None:
        world.fs.rmtree(path)
        world.move(hidden, path)

    return undo


_ARRANGEMENTS = {"front": _put_in_front, "swap": _swap, "missing": _replace_by_empty}
