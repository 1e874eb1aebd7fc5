"""The options of `kafka-consumer-groups`, and which of them go together."""

import sys

from barnabas.cli.kafka.options import Given, Options, UsageError

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
SCENARIOS = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
"""Options that select the new offsets."""

_ONLY_WITH = {
    "members": ("describe",),
    "verbose": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
}
_GROUPS = "[group], [all-groups]"
_NOTHING_IS_DONE = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will "
    "require either --dry-run or --execute to be specified. You should add the --dry-run option explicitly "
    "if you are scripting this command and want to keep the current default behavior without prompting."
)


def group_options() -> Options:
    options = Options("kafka-consumer-groups", "Lists, describes and deletes groups, resets offsets.")
    options.option("bootstrap-server", "Bootstrap brokers: host:port, separated by commas.", value="server")
    options.option("command-config", "File of properties for the client.", value="file")
    options.option("timeout", "Longest wait for an answer, in ms.", value="ms", kind=int, default=30000)
    options.flag("list", "List the groups.")
    options.flag("describe", "Show offsets and lag of groups (or --members, or --state).")
    options.flag("delete", "Delete groups that have no members, with their offsets.")
    options.flag("delete-offsets", "Delete a group's offsets of some topics.")
    options.option("validate-regex", "Check whether a regular expression is valid for RE2.", value="regex")
    options.option("group", "A group; may be given again.", value="group", repeated=True)
    options.flag("all-groups", "All groups.")
    options.option("topic", "A topic, or topic:0,1 for some partitions; repeatable.", repeated=True)
    options.flag("all-topics", "All topics that the group has offsets of.")
    options.flag("offsets", "With --describe: offsets and lag of each partition (the default).")
    options.flag("members", "With --describe: the members.")
    options.option(
        "state",
        "With --describe: the state. With --list: the states, or only groups in these (with commas).",
        value="states",
        optional_value=True,
    )
    options.option(
        "type",
        "With --list: the types, or only groups of these: classic, consumer.",
        value="types",
        optional_value=True,
    )
    options.flag("verbose", "With --describe: more columns.")
    _add_reset(options)
    return options


def _add_reset(options: Options) -> None:
    options.flag("reset-offsets", "Set the offsets of groups without members. Needs a --to-... and a scope.")
    options.flag("dry-run", "Only show the new offsets (the default).")
    options.flag("execute", "Commit the new offsets.")
    options.flag("export", "Print the new offsets as CSV, for --from-file.")
    options.option("to-offset", "To this offset.", value="offset", kind=int)
    options.option("shift-by", "By so many, forward or (negative) back.", value="number", kind=int)
    options.option("to-datetime", "To the first record since YYYY-MM-DDThh:mm:ss.sss.", value="datetime")
    options.option("by-duration", "To the first record of the last PnDTnHnMnS.", value="duration")
    options.flag("to-earliest", "To the beginning.")
    options.flag("to-latest", "To the end.")
    options.flag("to-current", "To the committed offsets, or to the end if there are none.")
    options.option("from-file", "To the offsets of a CSV file.", value="file")


def check(options: Options, given: Given) -> None:
    """Raises UsageError, with Kafka's text, in the order of its checks."""
    for name, homes in _ONLY_WITH.items():
        if given.has(name) and not any(given.has(home) for home in homes):
            raise UsageError(f"Option(s) [{name}] are unavailable given other options on the command line")
    if not given.has("validate-regex"):
        options.require(given, "bootstrap-server")
    _check_describe(given)
    _check_deletion(given)
    if given.has("reset-offsets"):
        _check_reset(options, given)
    options.forbid(given, "group", "all-groups")
    options.forbid(given, "group", "list")
    options.forbid(given, "topic", "list", "describe")
    if sum(given.has(action) for action in ACTIONS) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageError(f"Command must include exactly one action: {listed}")


def _names_groups(given: Given) -> bool:
    return given.has("group") or given.has("all-groups")


def _check_describe(given: Given) -> None:
    if not given.has("describe"):
        return
    if not _names_groups(given):
        raise UsageError(f"Option [describe] takes one of these options: {_GROUPS}")
    if sum(given.has(name) for name in ("members", "offsets", "state")) > 1:
        views = "[members], [offsets], [state]"
        raise UsageError(f"Option [describe] takes at most one of these options: {views}")
    if given.state:
        raise UsageError("Option [describe] does not take a value for [state]")


def _check_deletion(given: Given) -> None:
    if given.has("delete"):
        if not _names_groups(given):
            raise UsageError(f"Option [delete] takes one of these options: {_GROUPS}")
        if given.has("topic"):
            raise UsageError(
                "The consumer does not support topic-specific offset deletion from a consumer group."
            )
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        raise UsageError("Option [delete-offsets] takes the following options: [group], [topic]")


def _check_reset(options: Options, given: Given) -> None:
    if given.has("dry-run") and given.has("execute"):
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("dry-run") and not given.has("execute"):
        print(_NOTHING_IS_DONE, file=sys.stderr)
    if not _names_groups(given):
        raise UsageError(f"Option [reset-offsets] takes one of these options: {_GROUPS}")
    for used in ("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current"):
        options.forbid(given, used, *(other for other in SCENARIOS if other != used))
    for used in ("shift-by", "from-file"):
        options.forbid(given, used, *(other for other in SCENARIOS if other != used))
