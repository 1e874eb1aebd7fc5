"""Lets the commands of `barnabas` accept the names and options of Kafka's tools.

- `KafkaVerbs` is a group whose commands have aliases (`config describe`). An alias may also be an option, as
  in Kafka's tools (`topic --create --topic orders`).
- `KafkaCommand` is a command that accepts options of Kafka's tools for its arguments (`--topic orders`) and
  for its options (`--from-beginning`).

An option that only has another name in Kafka's tools is declared as a second name of the click option.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

_OUTSIDE_BRACKETS = re.compile(r",(?![^\[]*\])")


class KafkaVerbs(click.Group):
    """A group whose commands have aliases."""

    def __init__(self, *arguments: Any, also: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.also: Mapping[str, str] = also
        """Alias to command."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return super().get_command(context, self.also.get(name, name))

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        _, command, rest = super().resolve_command(context, args)
        return None if command is None else command.name, command, rest

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Accepts the command as an option among others, as in `--bootstrap-server host:9092 --list`."""
        if args and args[0].startswith("--"):
            verbs = {f"--{name}": name for name in (*self.commands, *self.also)}
            position = next((index for index, word in enumerate(args) if word in verbs), None)
            if position is not None:
                args = [verbs[args[position]], *args[:position], *args[position + 1 :]]
        return super().parse_args(context, args)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes aliases only if no command matches."""
        found = super().shell_complete(context, incomplete)
        others = [] if found else [name for name in self.also if name.startswith(incomplete)]
        return found + [CompletionItem(name) for name in others]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(context, formatter)
        names: dict[str, list[str]] = {}
        for other, name in self.also.items():
            names.setdefault(name, []).append(other)
        with formatter.section("Other names"):
            formatter.write_dl([(name, ", ".join(others)) for name, others in sorted(names.items())])


Translate = Callable[[str], Sequence[str]]
"""Maps the value of a Kafka option to arguments of this command."""
Option = Translate | Sequence[str]
"""A function for an option with a value, or the arguments that a flag stands for."""


class KafkaCommand(click.Command):
    """A command that takes options of Kafka's tools.

    arguments: options that stand for arguments, in this order wherever they are on the command line.
    options: options that stand for other options.
    """

    def __init__(
        self,
        *args: Any,
        arguments: Mapping[str, Option] | None = None,
        options: Mapping[str, Option] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self._arguments: Mapping[str, Option] = arguments or {}
        self._options: Mapping[str, Option] = options or {}

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(context, self._translated(context, args))

    def _translated(self, context: click.Context, args: Sequence[str]) -> list[str]:
        known = {**self._options, **self._arguments}
        values: dict[str, list[str]] = {flag: [] for flag in self._arguments}
        rest: list[str] = []
        words = list(args)
        while words:
            word = words.pop(0)
            flag, separator, value = word.partition("=")
            if word == "--":
                rest += [word, *words]
                break
            if flag not in known:
                rest.append(word)
                continue
            meaning = known[flag]
            if callable(meaning):
                if not separator and not words:
                    if context.resilient_parsing:  # completion of the value
                        break
                    raise click.BadOptionUsage(flag, f"Option {flag!r} requires an argument.", context)
                meaning = meaning(value if separator else words.pop(0))
            values.get(flag, rest).extend(meaning)
        return [value for flag in self._arguments for value in values[flag]] + rest

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        found = super().shell_complete(context, incomplete)
        if incomplete.startswith("-"):
            flags = (*self._arguments, *self._options)
            found += [CompletionItem(flag) for flag in flags if flag.startswith(incomplete)]
        return found

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(context, formatter)
        flags = (*self._arguments, *self._options)
        if flags:
            with formatter.section("Options of Kafka's tools, understood too"):
                formatter.write_text(", ".join(flags))


def itself(value: str) -> Sequence[str]:
    """The value is the argument."""
    return (value,)


def listed(value: str) -> Sequence[str]:
    """Splits a value at commas. Commas within brackets do not count: `key=[a,b]`."""
    return [re.sub(r"=\[(.*)\]$", r"=\1", each) for each in _OUTSIDE_BRACKETS.split(value) if each]


def behind(*words: str) -> Translate:
    """Puts words before the value."""
    return lambda value: (*words, value)


TOPIC: Mapping[str, Option] = {"--topic": itself}
GROUP: Mapping[str, Option] = {"--group": itself}
