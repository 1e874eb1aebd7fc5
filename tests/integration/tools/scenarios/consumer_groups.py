"""kafka-consumer-groups: list, describe, reset, export and import, delete, and the errors on the way.

The order of the lines of a reset is that of a Java hash table with Kafka's tool, so those are compared in any
order. Groups with members are compared in `test_consumer_groups_members.py`, each with both tools at once.
"""

from tests.integration.tools.scenario import Scenario, Step, new_topic, step

_GROUPS = "kafka-consumer-groups --bootstrap-server {bootstrap}"
_RESET = f"{_GROUPS} --reset-offsets --group {{group}}"
_FAILED = "\nError: Executing consumer group command failed due to "
_EMPTY_GROUP = "\nConsumer group '{group}' has no active members.\n"


def _records(count: int) -> Step:
    lines = "".join(f"{number}\n" for number in range(count))
    return step(
        "kafka-console-producer --bootstrap-server {bootstrap} --topic {topic}", stdin=lines, expected=""
    )


SCENARIOS = [
    Scenario(
        "groups are listed with their states and types",
        (
            *new_topic(2),
            step(f"{_RESET} --topic {{topic}} --to-earliest --execute", in_any_order=True, code=0),
            step(f"{_GROUPS} --list --state", lines_with="GROUP|{group}"),
            step(f"{_GROUPS} --list --type", lines_with="GROUP|{group}"),
            step(f"{_GROUPS} --list --state --type classic", lines_with="GROUP|{group}"),
            step(f"{_GROUPS} --list --state stable", lines_with="GROUP|{group}"),
            step(f"{_GROUPS} --list --type consumer", lines_with="GROUP|{group}"),
        ),
        # The columns are as wide as the longest group of the broker, which is another scenario's.
        rules=((r" {2,}", "  "),),
    ),
    Scenario(
        "a group that is made by a reset is listed and described and deleted",
        (
            *new_topic(2),
            step(
                f"{_RESET} --topic {{topic}} --to-earliest --execute",
                in_any_order=True,
                expected=(
                    "\n"
                    "GROUP           TOPIC           PARTITION  NEW-OFFSET\n"
                    "{group}  {topic}  0          0\n"
                    "{group}  {topic}  1          0\n"
                ),
                code=0,
            ),
            step(f"{_GROUPS} --list", lines_with="{group}", expected="{group}\n"),
            step(
                f"{_GROUPS} --describe --group {{group}}",
                expected=(
                    "\n"
                    "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG"
                    "             CONSUMER-ID     HOST            CLIENT-ID\n"
                    "{group}  {topic}  0          0               0               0               "
                    "-               -               -\n"
                    "{group}  {topic}  1          0               0               0               "
                    "-               -               -\n"
                ),
                expected_stderr=_EMPTY_GROUP,
                compare_stderr=True,
                code=0,
            ),
            step(f"{_GROUPS} --describe --group {{group}} --offsets --verbose", compare_stderr=True),
            step(f"{_GROUPS} --describe --group {{group}} --members", compare_stderr=True),
            step(f"{_GROUPS} --describe --group {{group}} --members --verbose", compare_stderr=True),
            step(
                f"{_GROUPS} --describe --group {{group}} --state",
                compare_stderr=True,
                lines_with="{group}|GROUP",
            ),
            step(f"{_GROUPS} --describe --group {{group}} --state --verbose", compare_stderr=True),
            step(
                f"{_GROUPS} --delete --group {{group}}",
                expected="Deletion of requested consumer groups ('{group}') was successful.\n",
                code=0,
            ),
            step(f"{_GROUPS} --list", lines_with="{group}", expected=""),
        ),
    ),
    Scenario(
        "a group that does not exist",
        (
            step(
                f"{_GROUPS} --describe --group {{group}}",
                expected=f"{_FAILED}org.apache.kafka.common.errors.GroupIdNotFoundException: "
                "Group {group} not found.\n",
                code=0,
            ),
            step(f"{_GROUPS} --describe --group {{group}} --members"),
            step(f"{_GROUPS} --describe --group {{group}} --state"),
            step(
                f"{_GROUPS} --delete --group {{group}}",
                expected=(
                    "\nError: Deletion of some consumer groups failed:\n"
                    "* Group '{group}' could not be deleted due to: "
                    "org.apache.kafka.common.errors.GroupIdNotFoundException: The group id does not exist.\n"
                ),
                code=0,
            ),
            step(f"{_GROUPS} --delete-offsets --group {{group}} --topic {{topic}}:0"),
            step(
                f"{_RESET} --all-topics --to-earliest --dry-run",
                expected="\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n",
                code=0,
            ),
        ),
    ),
    Scenario(
        "every way to reset offsets",
        (
            *new_topic(),
            _records(5),
            step(f"{_RESET} --topic {{topic}} --to-offset 3 --execute", expected=None, code=0),
            *(
                step(
                    f"{_RESET} --all-topics {strategy} --dry-run",
                    expected=(
                        "\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n"
                        f"{{group}}  {{topic}}  0          {offset}\n"
                    ),
                    code=0,
                )
                for strategy, offset in (
                    ("--to-earliest", 0),
                    ("--to-latest", 5),
                    ("--to-current", 3),
                    ("--to-offset 2", 2),
                    ("--to-offset 99", 5),
                    ("--to-offset -7", 0),
                    ("--shift-by 1", 4),
                    ("--shift-by -2", 1),
                    ("--shift-by -9", 0),
                    ("--by-duration PT1H", 0),
                    ("--by-duration P1DT2H3M4.5S", 0),
                    ("--to-datetime 2020-01-31T23:59:59.999", 0),
                    ("--to-datetime 2020-01-31T23:59:59.999+01:00", 0),
                )
            ),
            step(f"{_RESET} --all-topics --to-datetime 2099-01-01T00:00:00.000Z --dry-run"),
            step(
                f"{_RESET} --all-topics --to-latest",
                expected_stderr=(
                    "WARN: No action will be performed as the --execute option is missing. In version 5.0, "
                    "this command will require either --dry-run or --execute to be specified. You should add "
                    "the --dry-run option explicitly if you are scripting this command and want to keep the "
                    "current default behavior without prompting.\n"
                ),
                compare_stderr=True,
            ),
            step(f"{_GROUPS} --describe --group {{group}}"),
        ),
    ),
    Scenario(
        "a plan is exported and read again",
        (
            *new_topic(),
            _records(3),
            step(
                f"{_RESET} --topic {{topic}} --to-offset 2 --execute --export",
                expected="{topic},0,2\n\n",
                code=0,
            ),
            step(
                f"{_RESET} --group {{group2}} --topic {{topic}} --to-offset 2 --dry-run --export",
                in_any_order=True,
                expected="\n{group},{topic},0,2\n{group2},{topic},0,2\n",
            ),
            step(f"{_RESET} --from-file {{file:one.csv}} --dry-run"),
            step(
                f"{_RESET} --group {{group2}} --from-file {{file:two.csv}} --execute",
                in_any_order=True,
            ),
            step(f"{_RESET} --from-file {{file:two.csv}} --dry-run"),
            step(f"{_RESET} --group {{group3}} --from-file {{file:two.csv}} --dry-run"),
            step(f"{_RESET} --from-file {{file:none.csv}} --dry-run"),
            step(f"{_GROUPS} --describe --group {{group}} --group {{group2}}", compare_stderr=True),
        ),
        files={"one.csv": "{topic},0,1\n", "two.csv": "{group},{topic},0,1\n{group2},{topic},0,3\n"},
    ),
    Scenario(
        "a long topic is quoted in CSV and widens its column",
        (
            *new_topic(topic="{topic}-with-a-long-name"),
            step(f"{_RESET} --topic {{topic}}-with-a-long-name --to-latest --execute --export"),
            step(f"{_GROUPS} --describe --group {{group}}"),
            step(f"{_RESET} --topic {{topic}}-with-a-long-name --to-latest --dry-run"),
        ),
    ),
    Scenario(
        "scopes that are not there",
        (
            *new_topic(),
            step(
                f"{_RESET} --topic {{topic2}} --to-latest --dry-run",
                expected=f"{_FAILED}This server does not host this topic-partition.\n",
                code=0,
            ),
            step(
                f"{_RESET} --topic {{topic}}:7 --to-latest --dry-run",
                expected=f'{_FAILED}The partitions "{{topic}}-7" do not exist\n',
                code=0,
            ),
            step(f"{_RESET} --topic {{topic2}}:0 --to-latest --dry-run"),
            step(f"{_RESET} --topic {{topic}} --to-datetime 2020-01-01 --dry-run"),
            step(f"{_RESET} --topic {{topic}} --to-datetime 2020-01-01T10 --dry-run"),
            step(f"{_RESET} --topic {{topic}} --to-datetime 2020-02-30T10:00:00.000 --dry-run"),
            step(f"{_RESET} --topic {{topic}} --by-duration 1h --dry-run"),
        ),
    ),
    Scenario(
        "offsets of a group are deleted",
        (
            *new_topic(2),
            step(f"{_RESET} --topic {{topic}} --to-latest --execute", in_any_order=True),
            step(
                f"{_GROUPS} --delete-offsets --group {{group}} --topic {{topic}}:1",
                expected=(
                    "Request succeeded for deleting offsets from group {group}.\n\n"
                    "TOPIC           PARTITION  STATUS         \n"
                    "{topic}  1          Successful     \n"
                ),
                code=0,
            ),
            step(f"{_GROUPS} --delete-offsets --group {{group}} --topic {{topic2}}"),
            step(f"{_GROUPS} --delete-offsets --group {{group}} --topic {{topic2}}:0 --topic {{topic}}"),
        ),
    ),
    Scenario(
        "usage errors end with status 1 and print nothing",
        tuple(
            step(f"{_GROUPS} {words}", expected="", code=1)
            for words in (
                "--describe",
                "--delete",
                "--delete --group {group} --topic {topic}",
                "--delete-offsets --group {group}",
                "--group {group}",
                "--list --group {group}",
                "--list --members",
                "--list --state nonsense",
                "--list --type share",
                "--describe --group {group} --type",
                "--describe --group {group} --all-groups",
                "--describe --group {group} --topic {topic}",
                "--describe --group {group} --state Stable",
                "--describe --group {group} --members --offsets",
                "--reset-offsets --to-earliest --all-topics --dry-run",
                "--reset-offsets --group {group} --to-earliest --dry-run",
                "--reset-offsets --group {group} --all-topics --dry-run",
                "--reset-offsets --group {group} --to-earliest --to-latest --all-topics --dry-run",
                "--reset-offsets --group {group} --to-earliest --all-topics --dry-run --execute",
                "--reset-offsets --group {group} --to-earliest --topic {topic}:x --dry-run",
                "--reset-offsets --group {group} --to-earliest --topic {topic}:1:2 --dry-run",
            )
        ),
    ),
    Scenario(
        "a regular expression is checked",
        tuple(
            step(f"kafka-consumer-groups --validate-regex '{regex}'", code=0)
            for regex in (
                "a.*",
                "[a",
                "(a",
                "a)",
                "*",
                "a{3,1}",
                "a\\",
                "\\8",
                "a**",
                "(?<n",
                "[z-a]",
                "(?=a)",
            )
        ),
    ),
]
