"""What a configuration value may be, beyond its type.

A validator checks a parsed value and describes the allowed values for error messages. Null never reaches a
validator: it stands only for "not set", and a set value is not null.

Plain classes, not dataclasses: eight of those cost 5 ms of every start.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Protocol

Value = bool | int | float | str | tuple[str, ...] | None


class Validator(Protocol):
    def allows(self, value: Value) -> bool: ...

    def describe(self, noun: str) -> str:
        """What is allowed, in a phrase that follows "must be"; `noun` names the type ("an integer")."""
        ...


class Range:
    """A number with inclusive bounds; no upper bound when `maximum` is None."""

    __slots__ = ("maximum", "minimum")

    def __init__(self, minimum: float, maximum: float | None = None) -> None:
        self.minimum: float = minimum
        self.maximum: float | None = maximum

    def allows(self, value: Value) -> bool:
        assert isinstance(value, (int, float))
        return value >= self.minimum and (self.maximum is None or value <= self.maximum)

    def describe(self, noun: str) -> str:
        if self.maximum is None:
            return f"{noun} of at least {self.minimum}"
        return f"{noun} from {self.minimum} to {self.maximum}"


class RangeOr:
    """A number within bounds, or one number outside of them with a meaning of its own."""

    __slots__ = ("maximum", "minimum", "special")

    def __init__(self, minimum: int, maximum: int, special: int) -> None:
        self.minimum: int = minimum
        self.maximum: int = maximum
        self.special: int = special

    def allows(self, value: Value) -> bool:
        assert isinstance(value, (int, float))
        return self.minimum <= value <= self.maximum or value == self.special

    def describe(self, noun: str) -> str:
        return f"{noun} from {self.minimum} to {self.maximum}, or {self.special}"


class OneOf:
    __slots__ = ("choices", "ignore_case")

    def __init__(self, choices: tuple[str, ...], ignore_case: bool = False) -> None:
        self.choices: tuple[str, ...] = choices
        self.ignore_case: bool = ignore_case

    def allows(self, value: Value) -> bool:
        if self.ignore_case:
            return str(value).upper() in (choice.upper() for choice in self.choices)
        return value in self.choices

    def describe(self, noun: str) -> str:
        return "one of " + ", ".join(self.choices)


class NonEmpty:
    __slots__ = ()

    def allows(self, value: Value) -> bool:
        return value != ""

    def describe(self, noun: str) -> str:
        return f"{noun} that is not empty"


class Items:
    """A list without duplicates and without empty items, of the given choices if there are any."""

    __slots__ = ("choices", "may_be_empty")

    def __init__(self, choices: tuple[str, ...] = (), may_be_empty: bool = True) -> None:
        self.choices: tuple[str, ...] = choices
        self.may_be_empty: bool = may_be_empty

    def allows(self, value: Value) -> bool:
        assert isinstance(value, tuple)
        if not value:
            return self.may_be_empty
        if len(set(value)) != len(value) or "" in value:
            return False
        return not self.choices or all(item in self.choices for item in value)

    def describe(self, noun: str) -> str:
        kind = f"a list of {', '.join(self.choices)}" if self.choices else "a list"
        extent = "" if self.may_be_empty else " with at least one item"
        return f"{kind}{extent}, none of them empty or twice"


class ItemsLike:
    """A list whose items match a pattern."""

    __slots__ = ("pattern", "words")

    def __init__(self, pattern: str, words: str) -> None:
        self.pattern: str = pattern
        self.words: str = words

    def allows(self, value: Value) -> bool:
        assert isinstance(value, tuple)
        return all(re.fullmatch(self.pattern, item) for item in value)

    def describe(self, noun: str) -> str:
        return self.words


class Like:
    """A string that matches a pattern."""

    __slots__ = ("pattern", "words")

    def __init__(self, pattern: str, words: str) -> None:
        self.pattern: str = pattern
        self.words: str = words

    def allows(self, value: Value) -> bool:
        return re.fullmatch(self.pattern, str(value)) is not None

    def describe(self, noun: str) -> str:
        return self.words


class ThrottledReplicas:
    """`*`, or a list of `partition:broker`."""

    __slots__ = ()

    def allows(self, value: Value) -> bool:
        assert isinstance(value, tuple)
        return value == ("*",) or all(re.fullmatch(r"(\d+:\d+)?", item) for item in value)

    def describe(self, noun: str) -> str:
        return "* or a list of [partitionId]:[brokerId],[partitionId]:[brokerId],..."


@cache
def at_least(minimum: int) -> Range:
    return Range(minimum)


@cache
def between(minimum: float, maximum: float) -> Range:
    return Range(minimum, maximum)


def one_of(*choices: str) -> OneOf:
    return OneOf(choices)


def one_of_any_case(*choices: str) -> OneOf:
    return OneOf(choices, ignore_case=True)


def items(choices: Iterable[str] = (), *, may_be_empty: bool = True) -> Items:
    return Items(tuple(choices), may_be_empty)
