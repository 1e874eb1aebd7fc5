"""The mixes of steps that are lived: with kills, damage and other directories, and with losses of power.

Index files have no checksum in Kafka's formats: after a clean stop they are compared with what it noted,
after a kill those below the recovery point are believed, here as in Apache Kafka. So after a kill they are
deleted at most, and indexes of aborted transactions, which few segments have, are left alone.
"""

from tests.faults.topic_life import damage
from tests.faults.topic_life.generator import DAMAGES, Mix

_ANY_FILE = ("stray", *DAMAGES)
_NOTICED_AFTER_KILL = (
    "stray",
    "tear",
    "tear+stray",
    "delete:.index",
    "delete:.timeindex",
    *(each for each in DAMAGES if not each.endswith((damage.INDEX, damage.TIME_INDEX, damage.TXN_INDEX))),
)
KILLS = Mix(
    endings={"clean": 4, "kill": 4},
    damages=_ANY_FILE,
    damages_after_kill=_NOTICED_AFTER_KILL,
    arrangements=("front", "swap", "missing"),
)
POWER_CUTS = Mix(endings={"clean": 2, "kill": 1, "power": 4}, damages=(), log_dirs=1)
