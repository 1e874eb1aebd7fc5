"""The flags of one tool: declared once, parsed as Kafka's tools parse them, listed by `--help`.

Kafka's parser takes `--flag value`, `--flag=value` and the same with one dash, no abbreviations, and a value
may begin with a dash. Old names of a flag are accepted with Kafka's warning. An invalid command line raises
`UsageError`.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

_WIDTH = 100
_LEFT = 44
_NUMBER = re.compile("[+-]?[0-9]+")


class UsageError(Exception):
    """The command line is invalid. The message is Kafka's own where Kafka has one."""


@dataclass(frozen=True, slots=True)
class Option:
    name: str
    text: str
    value: str | None
    """The name of the value in the help. None for a flag without a value."""
    kind: Callable[[str], Any]
    default: Any
    is_repeated: bool
    is_value_optional: bool
    deprecated: tuple[str, ...]
    aliases: tuple[str, ...]

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_").replace(".", "_")


class Given:
    """The options of one call, as attributes: `given.topic`, `given.bootstrap_server`."""

    def __init__(self, values: dict[str, Any], named: frozenset[str], words: list[str]) -> None:
        self._values: dict[str, Any] = values
        self._named: frozenset[str] = named
        self.words: list[str] = words
        """Positional arguments."""

    def __getattr__(self, attribute: str) -> Any:
        try:
            return self._values[attribute]
        except KeyError:
            raise AttributeError(attribute) from None

    def has(self, name: str) -> bool:
        """Whether `name` (as on the command line, without dashes) was given."""
        return name in self._named


class Options:
    def __init__(self, program: str, purpose: str) -> None:
        self.program: str = program
        self.purpose: str = purpose
        self._options: dict[str, Option] = {}
        self.flag("help", "Print usage information.")
        self.flag("version", "Display the version.")

    # --- declaring ----------------------------------------------------------------------------------

    def flag(
        self, name: str, text: str, *, deprecated: Iterable[str] = (), aliases: Iterable[str] = ()
    ) -> None:
        """An option without a value: False or True."""
        self._add(Option(name, text, None, bool, False, False, False, tuple(deprecated), tuple(aliases)))

    def option(
        self,
        name: str,
        text: str,
        *,
        value: str = "String",
        kind: Callable[[str], Any] = str,
        default: Any = None,
        repeated: bool = False,
        optional_value: bool = False,
        deprecated: Iterable[str] = (),
        aliases: Iterable[str] = (),
    ) -> None:
        """An option with a value.

        Repeated ones give a list. One with an optional value gives "" for the bare flag. `aliases` are other
        names that stay; `deprecated` ones are warned about. `kind` makes the value and may raise ValueError.
        """
        start = [] if repeated and default is None else default
        self._add(
            Option(
                name, text, value, kind, start, repeated, optional_value, tuple(deprecated), tuple(aliases)
            )
        )

    def _add(self, option: Option) -> None:
        for name in (option.name, *option.aliases, *option.deprecated):
            self._options[name] = option

    # --- parsing ------------------------------------------------------------------------------------

    def parse(self, arguments: Sequence[str]) -> Given:
        values: dict[str, Any] = {each.attribute: each.default for each in self._options.values()}
        named: set[str] = set()
        words: list[str] = []
        rest = list(arguments)
        while rest:
            word = rest.pop(0)
            if word == "--":
                words += rest
                break
            if not word.startswith("-") or word == "-":
                words.append(word)
                continue
            name, has_value, text = word.lstrip("-").partition("=")
            option = self._options.get(name)
            if option is None:
                raise UsageError(f"{name} is not a recognized option")
            if name in option.deprecated:
                _warn(name, option.name)
            if option.name in named and not option.is_repeated and option.value is not None:
                raise UsageError(
                    f"Found multiple arguments for option {option.name}, but you asked for only one"
                )
            named.add(option.name)
            value = self._value(option, text if has_value else None, rest)
            if option.is_repeated:
                values[option.attribute] = [*values[option.attribute], value]
            else:
                values[option.attribute] = value
        return Given(values, frozenset(named), words)

    def _value(self, option: Option, text: str | None, rest: list[str]) -> Any:
        if option.value is None:
            if text is not None:
                raise UsageError(f"Option {option.name} does not take an argument")
            return True
        if text is None:
            if option.is_value_optional and (not rest or self._is_option(rest[0])):
                return ""
            if not rest or self._is_option(rest[0]):
                raise UsageError(f"Option {option.name} requires an argument")
            text = rest.pop(0)
        try:
            return whole_number(text) if option.kind is int else option.kind(text)
        except ValueError as error:
            reason = f": {error}" if str(error) and option.kind not in (int, integer, float) else ""
            raise UsageError(f"Cannot parse argument '{text}' of option {option.name}{reason}") from None

    def _is_option(self, word: str) -> bool:
        """A value may begin with a dash, unless it is an option of this tool."""
        return word.startswith("--") and word[2:].partition("=")[0] in self._options

    # --- checks between options ---------------------------------------------------------------------

    def require(self, given: Given, *names: str) -> None:
        for name in names:
            if not given.has(name):
                raise UsageError(f'Missing required argument "[{name}]"')

    def require_one_of(self, given: Given, *names: str) -> None:
        if sum(given.has(name) for name in names) != 1:
            listed = ", ".join(f"[{name}]" for name in names)
            raise UsageError(f"Exactly one of the following arguments is required: {listed}")

    def forbid(self, given: Given, used: str, *others: str) -> None:
        """None of `others` beside `used`."""
        for other in others:
            if given.has(used) and given.has(other):
                raise UsageError(f'Option "[{used}]" can\'t be used with option "[{other}]"')

    # --- help ---------------------------------------------------------------------------------------

    def help(self) -> str:
        lines = [self.purpose, "", f"{'Option':<{_LEFT}}Description", f"{'------':<{_LEFT}}-----------"]
        by_name = {option.name: option for option in self._options.values()}
        for _, option in sorted(by_name.items()):
            left = "--" + option.name
            if option.value is not None:
                left += f" [{option.value}]" if option.is_value_optional else f" <{option.value}>"
            default = f" (default: {option.default})" if option.default not in (None, False, []) else ""
            right = textwrap.wrap(option.text + default, _WIDTH - _LEFT) or [""]
            if len(left) >= _LEFT:
                lines.append(left)
                left = ""
            lines.append(f"{left:<{_LEFT}}{right[0]}")
            lines += [" " * _LEFT + line for line in right[1:]]
        return "\n".join(lines)


def whole_number(text: str, bits: int = 64) -> int:
    """As Java reads a long: no blanks, no underscores, no more than it can hold. Raises ValueError."""
    number = int(text)
    if _NUMBER.fullmatch(text) is None or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError
    return number


def integer(text: str) -> int:
    """The `kind` of an option that is an int in Kafka; `int` is its long. Raises ValueError."""
    return whole_number(text, 32)


def _warn(old: str, new: str) -> None:
    print(
        f"Option --{old} is deprecated and will be removed in a future version. Use --{new} instead.",
        file=sys.stderr,
    )


def fail(message: str) -> NoReturn:
    raise UsageError(message)
