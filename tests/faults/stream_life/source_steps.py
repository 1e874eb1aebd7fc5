"""What happens to the source topic and to the broker, whatever the streams are doing."""

from tests.faults.stream_life import stream_steps
from tests.faults.stream_life.driver import SOURCE
from tests.faults.stream_life.scene import Scene
from tests.faults.stream_life.step import Step

from barnabas.client.admin.records import delete_records
from barnabas.client.admin.topics import Growth, add_partitions
from barnabas.client.admin.transactions import terminate_transaction

_MOST_PARTITIONS = 4


def produce(scene: Scene, step: Step) -> None:
    partition = step.partition % len(scene.source.partitions)
    records = scene.source.append(partition, step.amount, is_poison=step.option == "poison")
    scene.produce(SOURCE, partition, records)
    scene.counts["produced"] += 1


def recreate(scene: Scene, step: Step) -> None:
    """Not while a stream that passes over losses has a batch under way: what it reads then is not defined."""
    if any(not each.fails_on_data_loss and each.checkpoint.has_pending for each in scene.streams.values()):
        return
    scene.broker.delete_topic(SOURCE)
    scene.broker.create_topic(SOURCE, 2)
    scene.source.recreate()
    scene.counts["recreated"] += 1


def grow(scene: Scene, step: Step) -> None:
    count = len(scene.source.partitions)
    if count < _MOST_PARTITIONS:
        with scene.cluster() as cluster:
            add_partitions(cluster, {SOURCE: Growth(count + 1)})
        scene.source.grow()
        scene.counts["grown"] += 1


def expire(scene: Scene, step: Step) -> None:
    """Records up to a share (in percent) of a partition are deleted."""
    partition = step.partition % len(scene.source.partitions)
    offset = len(scene.source.partitions[partition]) * step.amount // 100
    if offset > scene.source.starts[partition]:
        with scene.cluster() as cluster:
            delete_records(cluster, {(SOURCE, partition): offset})
        scene.source.starts[partition] = offset
        scene.counts["expired"] += 1


def withhold(scene: Scene, step: Step) -> None:
    scene.withheld = step.amount


def restart(scene: Scene, step: Step) -> None:
    if step.option == "kill":
        scene.kill_broker()
    else:
        scene.broker.restart()
    scene.counts["restarted"] += 1


def time_out(scene: Scene, step: Step) -> None:
    """Transactions that dead drivers left open come to their timeout."""
    for name in scene.open_transactions():
        with scene.cluster() as cluster:
            terminate_transaction(cluster, name)
        scene.counts["timed out"] += 1


def check(scene: Scene, step: Step) -> None:
    if not scene.open_transactions():
        scene.compare()
        scene.counts["checked"] += 1


def finish(scene: Scene, step: Step) -> None:
    """Every stream runs until it ends well or is given up, then everything is compared."""
    for stream_id in sorted(scene.streams):
        while (stream := scene.streams.get(stream_id)) is not None:
            if stream_steps.run_to_the_end(scene, stream_id, stream):
                break
    time_out(scene, step)
    scene.compare()
