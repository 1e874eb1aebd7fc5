"""The language of parity scenarios: what is run, which ways, and what counts as equal.

A scenario is run with our tools and with Apache Kafka's, against both brokers, each time with fresh names:

    Scenario("create a topic", (
        step("kafka-topics --bootstrap-server {bootstrap} --create --topic {topic}",
             expected="Created topic {topic}.\n"),
        step("kafka-topics --bootstrap-server {bootstrap} --describe --topic {topic}", until="Leader: 1"),
    ))

Placeholders, in commands, standard input and files: `{bootstrap}`; `{topic}`, `{topic2}` ... and `{group}`,
`{group2}` ...; `{file:name}`, a path (written before, if the scenario's `files` has the name); `{log_dir}`,
the broker's directory of partitions. Other braces stay as they are. The same placeholders stand in what is
compared, and in the expected text, besides `{id}`, `{uuid}`, `{time}` and `{timestamp}` (`normalise.py`).
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tests.patience import PROGRAM_PATIENCE


class Way(Enum):
    """Whose tool, against whose broker."""

    THEIRS_AT_APACHE = "theirs@apache"
    THEIRS_AT_BARNABAS = "theirs@barnabas"
    OURS_AT_APACHE = "ours@apache"
    OURS_AT_BARNABAS = "ours@barnabas"

    @property
    def is_ours(self) -> bool:
        return self in (Way.OURS_AT_APACHE, Way.OURS_AT_BARNABAS)

    @property
    def needs_apache(self) -> bool:
        return self is not Way.OURS_AT_BARNABAS


Rule = tuple[str, str]
"""A regular expression and its replacement, applied before texts are compared."""
PRODUCER_IDS: Final[Rule] = (r"(?i)(producer ?id:? ?)\d+", r"\1{n}")
CHECKSUMS: Final[Rule] = (r"\bcrc: \d+", "crc: {n}")
ELR_DEFAULT: Final[Rule] = (r"DYNAMIC_DEFAULT_BROKER_CONFIG:min\.insync\.replicas=1, ", "")
"""Apache Kafka sets this itself in a new cluster, for its eligible leader replicas."""
NUMBERS: Final[Rule] = (r"\d+(\.\d+)?", "{n}")
"""For output that is all measurements; the words around them are still compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    program: str
    arguments: tuple[str, ...]
    stdin: str = ""
    expected: str | None = None
    """The normalised standard output; also checked, with our tool and our broker, where Maven is missing."""
    expected_stderr: str | None = None
    code: int | None = None
    """The exit code; without it, it is only compared."""
    compare_stderr: bool = False
    lines_with: str | None = None
    """Only lines in which this regular expression is found count."""
    in_any_order: bool = False
    until: str | None = None
    """Run again until this regular expression is found in its output: for what brokers do in their time.

    Of a step in the background: wait for a line of its standard output that has this text.
    """
    in_background: bool = False
    """Runs until the end of the scenario; its output is not compared."""
    in_process: bool = False
    """Our tool gets a process of its own (half a second more)."""
    deviates: Mapping[Way, str] = field(default_factory=dict)
    """Ways whose output is known to differ in this step, each with the reason."""
    timeout: float = PROGRAM_PATIENCE

    def __str__(self) -> str:
        return shlex.join([self.program, *self.arguments])


def step(
    command: str,
    *,
    stdin: str = "",
    expected: str | None = None,
    expected_stderr: str | None = None,
    code: int | None = None,
    compare_stderr: bool = False,
    lines_with: str | None = None,
    in_any_order: bool = False,
    until: str | None = None,
    in_background: bool = False,
    in_process: bool = False,
    deviates: Mapping[Way, str] | None = None,
    timeout: float = PROGRAM_PATIENCE,
) -> Step:
    """A step from a command line as a shell reads it."""
    program, *arguments = shlex.split(command)
    return Step(
        program=program,
        arguments=tuple(arguments),
        stdin=stdin,
        expected=expected,
        expected_stderr=expected_stderr,
        code=code,
        compare_stderr=compare_stderr,
        lines_with=lines_with,
        in_any_order=in_any_order,
        until=until,
        in_background=in_background,
        in_process=in_process,
        deviates=deviates or {},
        timeout=timeout,
    )


def new_topic(partitions: int = 1, options: str = "", *, topic: str = "{topic}") -> tuple[Step, ...]:
    """Creates a topic and waits until every partition responds.

    Apache Kafka acknowledges a topic before its broker knows it, and the broker publishes the metadata before
    it has created the logs.
    """
    broker = "--bootstrap-server {bootstrap}"
    return (
        step(
            f"kafka-topics {broker} --create --topic {topic} --partitions {partitions} {options}",
            expected=f"Created topic {topic}.\n",
            code=0,
        ),
        step(
            f"kafka-get-offsets {broker} --topic {topic}",
            until=rf"(?m)(?:^{re.escape(topic)}:.+:.+\n){{{partitions}}}",
            code=0,
        ),
    )


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    steps: tuple[Step, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    """What `{file:name}` holds when the scenario begins."""
    rules: tuple[Rule, ...] = ()
    """Further normalisation, after the rules for all (`normalise.py`)."""
    without: Mapping[Way, str] = field(default_factory=dict)
    """Ways that do not take part at all, each with the reason."""

    @property
    def ways(self) -> tuple[Way, ...]:
        return tuple(way for way in Way if way not in self.without)

    @property
    def has_expected_text(self) -> bool:
        return any(each.expected is not None or each.expected_stderr is not None for each in self.steps)

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
