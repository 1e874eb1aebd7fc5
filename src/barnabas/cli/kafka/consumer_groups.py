"""`kafka-consumer-groups`: list, describe and delete groups, reset and delete their offsets.

Errors of the cluster are printed on stdout after Kafka's own text. Kafka's tool exits with status 0 then, and
so does this one for an error of a broker. Without any usable answer it exits with 1, so that a script
notices.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.kafka.groups.failure import CommandFailed, print_error
from barnabas.cli.kafka.groups.options import check, group_options
from barnabas.cli.kafka.options import Given
from barnabas.cli.kafka.tool_runner import run_tool

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

_FAILED = "Executing consumer group command failed due to "
_REASONS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "regexp/syntax: internal error",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""Messages of RE2 for a bad expression, and those of RE2/J, which Kafka's tool prints."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = group_options()

    def work(given: Given) -> int:
        check(options, given)
        return _work(given)

    return run_tool(options, work, arguments)


def _work(given: Given) -> int:
    if given.has("validate-regex"):
        print(regex_verdict(given.validate_regex))
        return 0
    from barnabas.client.errors import ClientError

    try:
        with _open(given) as cluster:
            _act(cluster, given)
    except CommandFailed as error:
        print_error(_FAILED + str(error))
    except ClientError as error:
        print_error(_FAILED + str(error))
        return 1
    return 0


def _open(given: Given) -> "Cluster":
    from dataclasses import replace

    from barnabas.cli.bootstrap import open_cluster

    cluster = open_cluster(given.bootstrap_server, given.command_config)
    timeout = max(given.timeout, 1) / 1000
    settings = cluster.settings
    cluster.settings = replace(
        settings, api_timeout=timeout, request_timeout=min(timeout, settings.request_timeout)
    )
    return cluster


def _act(cluster: "Cluster", given: Given) -> None:
    if given.has("list"):
        from barnabas.cli.kafka.groups.listing import print_groups

        print_groups(cluster, given)
    elif given.has("describe"):
        from barnabas.cli.kafka.groups.describing import print_descriptions

        print_descriptions(cluster, given)
    elif given.has("delete"):
        from barnabas.cli.kafka.groups.deleting import delete_groups

        delete_groups(cluster, given)
    elif given.has("delete-offsets"):
        from barnabas.cli.kafka.groups.deleting import delete_offsets

        delete_offsets(cluster, given)
    else:
        from barnabas.cli.kafka.groups.resetting import reset_offsets

        reset_offsets(cluster, given)


def regex_verdict(regex: str) -> str:
    """Whether members may subscribe with this expression."""
    from barnabas.base.errors import InvalidRegularExpression
    from barnabas.base.topic_regex import compile_topic_regex

    try:
        compile_topic_regex(regex)
    except InvalidRegularExpression as error:
        text = error.message.partition("is not a valid regular expression: ")[2].removesuffix(".")
        reason = text.partition(": ")[0]
        return f"The regular expression `{regex}` is invalid: {_REASONS.get(reason, reason)}."
    return f"The regular expression `{regex}` is valid."
