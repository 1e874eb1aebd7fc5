"""The states of a classic group, and from which one may come to which.

    Empty ──────────────► PreparingRebalance ──► CompletingRebalance ──► Stable
      ▲   somebody joins    │    ▲  everybody (re)joined, │     the leader's │
      │                     │    │  or the time is up     │    assignment is │
      └─────────────────────┘    └────────────────────────┴────── written ───┘
       nobody is left              a member joins, leaves, changes or dies

A group is Dead once it was deleted or the coordinator has moved; it answers nobody any more.
"""

from enum import Enum


class ClassicState(Enum):
    """The value is what ListGroups and DescribeGroups print."""

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
