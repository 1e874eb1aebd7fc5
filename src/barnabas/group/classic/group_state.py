"""The states of a classic group, and the transitions between them.

    Empty ──────────────► PreparingRebalance ──► CompletingRebalance ──► Stable
      ▲   a member joins    │    ▲  all members joined,   │     the leader's │
      │                     │    │  or the time is up     │    assignment is │
      └─────────────────────┘    └────────────────────────┴────── written ───┘
       no member left              a member joins, leaves, changes or expires

A group is Dead once it was deleted or the coordinator has moved. It answers no request any more.
"""

from enum import Enum


class ClassicState(Enum):
    """The value is the name in ListGroups and DescribeGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


EMPTY = ClassicState.EMPTY
PREPARING_REBALANCE = ClassicState.PREPARING_REBALANCE
COMPLETING_REBALANCE = ClassicState.COMPLETING_REBALANCE
STABLE = ClassicState.STABLE
DEAD = ClassicState.DEAD

COMES_FROM: dict[ClassicState, frozenset[ClassicState]] = {
    EMPTY: frozenset((PREPARING_REBALANCE,)),
    PREPARING_REBALANCE: frozenset((STABLE, COMPLETING_REBALANCE, EMPTY)),
    COMPLETING_REBALANCE: frozenset((PREPARING_REBALANCE,)),
    STABLE: frozenset((COMPLETING_REBALANCE,)),
    DEAD: frozenset(ClassicState),
}
