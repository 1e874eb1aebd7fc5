"""The mixes of steps that are lived: with kills, damage and other directories, and with losses of power.

Index files have no checksum in Kafka's formats: after a clean stop they are compared with what it noted.
After a kill those below the recovery point that are newer are believed, as in Apache Kafka. So then they are
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
POWER_CUTS = Mix(endings={"clean": 2, "kill": 1, "power": 4}, damages=())
_UNNOTICED = ("stray", "tear+stray")
ON_THE_WIRE = Mix(
    weights={
        "create": 8,
        "delete": 3,
        "configure": 4,
        "produce": 12,
        "produce_idempotent": 10,
        "produce_in_transaction": 10,
        "end_transaction": 7,
        "take_over": 1,
        "commit_offset": 5,
        "commit_offset_in_transaction": 3,
        "delete_records": 6,
        "check": 1,
        "restart": 4,
        "produce_through_kill": 3,
    },
    endings={"clean": 1, "kill": 3},
    topics=("a", "b"),
    stamps=("now", "mixed"),
    damages=tuple(each for each in _NOTICED_AFTER_KILL if each not in _UNNOTICED),
    configs=("cleanup.policy", "flush.messages", "preallocate", "segment.ms", "compression.type"),
)
"""Over sockets, with a real process and real clients, which give every record a timestamp."""
