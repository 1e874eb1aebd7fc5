"""The words of Kafka's tools mean the same as those of `barnabas`."""

import os
import subprocess
import sys
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from barnabas.cli.front import run
from barnabas.cli.kafka_words import KafkaCommand, KafkaVerbs, itself, listed
from barnabas.cli.main import barnabas

_NOUNS = ("topic", "group", "config", "cluster", "acl", "transaction", "reassign", "record", "log")


def _parsed(words: str) -> tuple[str, dict[str, Any]]:
    """The command that is meant, and the values of its parameters."""
    context = click.Context(barnabas, info_name="barnabas")
    name, command, rest = barnabas.resolve_command(context, words.split())
    assert command is not None
    if isinstance(command, click.Group):
        group = command
        context = group.make_context(name, list(rest), parent=context)
        name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None
    made = command.make_context(name, list(rest), parent=context)
    return made.command_path, made.params


@pytest.mark.parametrize("verb", ["list", "ls", "describe", "show"])
@pytest.mark.parametrize("noun", _NOUNS)
def test_every_noun_can_be_listed_and_described(noun: str, verb: str) -> None:
    context = click.Context(barnabas)
    _, group, _ = barnabas.resolve_command(context, [noun])
    assert isinstance(group, click.Group)
    assert group.get_command(context, verb) is not None


@pytest.mark.parametrize(
    ("kafkas", "ours"),
    [
        ("topic create --topic t --partitions 3 --replication-factor 1", "topic create t -p 3 -r 1"),
        ("topic create --partitions=3 --topic=t --config a=b", "topic create t -p 3 -c a=b"),
        ("topic --bootstrap-server h:1 --create --topic t", "topic create t -b h:1"),
        ("topic --list", "topic list"),
        ("topic describe --topic a --topic b", "topic describe a b"),
        ("topic show a", "topic describe a"),
        ("topic alter --topic t --partitions 4", "topic alter t -p 4"),
        ("topic rm t", "topic delete t"),
        ("group describe --group g --members --verbose", "group describe g"),
        (
            "group --reset-offsets --group g --topic t --to-earliest --execute",
            "group reset g -t t --to earliest -y",
        ),
        ("group reset --group g --all-topics --to-offset 5 --dry-run", "group reset g --to 5 --dry-run"),
        ("group reset --group g --to-datetime 2026-01-31T08:30", "group reset g --to-time 2026-01-31T08:30"),
        ("group delete-offsets --group g --topic t", "group delete-offsets g -t t"),
        ("config describe --entity-type topics --entity-name t", "config list topic t"),
        ("config describe --topic t --all", "config list topic t --all"),
        ("config describe --entity-type brokers --entity-default", "config list broker default"),
        ("config describe --entity-type broker-loggers --entity-name 1", "config list logger 1"),
        ("config alter --add-config a=1,b=[x,y] --topic t", "config set topic t a=1 b=x,y"),
        ("config alter --broker 0 --delete-config a,b", "config unset broker 0 a b"),
        ("config --alter --topic t --delete-config a", "config unset topic t a"),
        ("cluster describe", "cluster info"),
        ("cluster api-versions", "cluster apis"),
        ("cluster log-dirs --topic-list t", "cluster disks --topic t"),
        (
            "acl --add --allow-principal User:a --operation Read --topic t --allow-host h",
            "acl add User:a read --topic t --host h",
        ),
        (
            "acl create --deny-principal a --operation Write --topic t --resource-pattern-type PREFIXED",
            "acl add a write --deny --topic t --prefixed",
        ),
        ("acl delete --allow-principal a --topic t --force", "acl remove a --topic t --yes"),
        ("transaction describe --transactional-id x", "transaction describe x"),
        ("transaction describe-producers --partition 2 --topic t", "transaction producers t 2"),
        ("transaction find-hanging --topic t --broker-id 1", "transaction hanging t --broker 1"),
        ("reassign generate --topic t --broker-list 1,2", "reassign plan t --brokers 1,2"),
        ("reassign --verify --reassignment-json-file p", "reassign status p"),
        ("reassign execute --reassignment-json-file p --throttle 5", "reassign start p --throttle 5"),
        ("reassign elect --election-type unclean --all-topic-partitions", "reassign elect --unclean --all"),
        ("record describe --topic t --time 5", "record offsets t --at 5"),
        ("log dump --files a.log,b.log --print-data-log", "log dump a.log b.log --records"),
        (
            "consume --topic t --from-beginning --max-messages 3 --group g",
            "consume t --from beginning -n 3 -g g",
        ),
        ("consume --topic t --partition 0 --offset latest", "consume t -p 0 --from end"),
        (
            "produce --topic t --compression-codec gzip --request-required-acks 1",
            "produce t --compression gzip --acks 1",
        ),
    ],
)
def test_kafkas_words_mean_the_same(kafkas: str, ours: str) -> None:
    assert _parsed(kafkas) == _parsed(ours)


def test_option_without_its_value_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(barnabas, ["topic", "describe", "--topic"]) == 2
    assert "Option '--topic' requires an argument." in capsys.readouterr().err


def test_help_names_the_other_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(barnabas, ["config", "--help"]) == 0
    assert "Other names:" in capsys.readouterr().out
    assert run(barnabas, ["topic", "create", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "--replication-factor" in printed
    assert "understood too:\n  --topic" in printed


def test_words_behind_two_dashes_are_left_alone() -> None:
    command = KafkaCommand(
        "show", params=[click.Argument(["names"], nargs=-1)], arguments={"--topic": itself}
    )
    made = command.make_context("show", ["--topic", "a", "--", "--topic"])
    assert made.params == {"names": ("a", "--topic")}


def test_list_of_settings_is_split_outside_of_brackets() -> None:
    assert list(listed("a=1,b=[x,y],c=")) == ["a=1", "b=x,y", "c="]


def _completed(*words: str, incomplete: str) -> list[str]:
    found = ShellComplete(barnabas, {}, "barnabas", "_BARNABAS_COMPLETE").get_completions(
        list(words), incomplete
    )
    return [item.value for item in found]


def test_other_words_are_completed_where_no_own_word_fits() -> None:
    assert _completed("config", incomplete="d") == ["describe", "delete"]
    assert _completed("topic", incomplete="d") == ["delete", "describe"]
    assert "--topic" in _completed("topic", "create", incomplete="--t")
    assert "--replication-factor" in _completed("topic", "create", incomplete="--rep")


def test_value_of_another_word_is_completed_like_the_argument() -> None:
    names = click.Argument(["names"], nargs=-1, shell_complete=lambda *_: ["orders"])
    command = KafkaCommand("show", params=[names], arguments={"--topic": itself})
    group = KafkaVerbs("noun", commands=[command], also={})
    found = ShellComplete(group, {}, "noun", "_X").get_completions(["show", "--topic"], "")
    assert [item.value for item in found] == ["orders"]


def test_nothing_more_is_loaded_for_them() -> None:
    """The commands are loaded when they are called: `--help` stays quick."""
    code = "import sys, barnabas.cli.main; sys.exit('barnabas.cli.kafka_words' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=dict(os.environ), check=False).returncode == 0
