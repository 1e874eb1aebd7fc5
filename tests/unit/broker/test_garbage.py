"""Full collections look at new objects only. In a process of its own: the collector is the process's."""

import subprocess
import sys

import pytest

_SETUP = """
import gc, weakref
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker import garbage
class Node:
    pass
def nodes(count):
    made = [Node() for _ in range(count)]
    for node in made:
        node.itself = node
    return made
holds = LoopHolds(iter(range(100)).__next__)
frozen = garbage.FrozenObjects(holds)
frozen.start()
gc.disable()
"""


def _run(script: str) -> None:
    subprocess.run([sys.executable, "-c", _SETUP + script], check=True)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            "kept = nodes(5000); gc.collect()\n"
            "assert gc.get_freeze_count() > 5000\n"
            "assert len(gc.get_objects()) < 1000, 'the next collection looks at them again'",
            id="what survives a full collection is left out of the next",
        ),
        pytest.param(
            "lost = weakref.ref(nodes(1)[0]); gc.collect()\nassert lost() is None",
            id="new garbage is found",
        ),
        pytest.param(
            "kept = nodes(1); lost = weakref.ref(kept[0]); gc.collect(); del kept\n"
            "before = gc.get_freeze_count(); more = nodes(2 * before); gc.collect()\n"
            "assert lost() is not None, 'it is frozen'\n"
            "more += nodes(2 * before); gc.collect(); gc.collect()\n"
            "assert lost() is None, 'frozen garbage is never found'\n"
            "assert gc.get_freeze_count() > 2 * before",
            id="frozen garbage is found when the frozen objects have multiplied",
        ),
        pytest.param(
            "gc.collect(1)\nassert holds.summary() == {}\n"
            "gc.collect()\nassert holds.summary() == {'garbage collection': (1, 1)}",
            id="full collections are measured",
        ),
        pytest.param(
            "assert gc.get_threshold() == garbage.THRESHOLDS",
            id="full collections come sooner",
        ),
    ],
)
def test_full_collections_look_at_new_objects(script: str) -> None:
    _run(script)
