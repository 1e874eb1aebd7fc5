"""The mixes of steps that are lived: with kills and damage, and with losses of power."""

from tests.faults.topic_life.generator import Mix

KILLS = Mix(endings={"clean": 4, "kill": 4}, damages=())
POWER_CUTS = Mix(endings={"clean": 2, "kill": 1, "power": 4}, damages=(), log_dirs=1)
