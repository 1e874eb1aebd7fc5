"""kafka-acls: what is wrong with a command line, and real ACLs on a broker with an authorizer (GUARDED)."""

from tests.integration.tools.scenario import Rule, Scenario, Step, Way, step

_ACLS = "kafka-acls --bootstrap-server {bootstrap}"
# Where Kafka names the class of an error and prints its stack trace, we print the message.
_REASON: Rule = (
    r"(Error while executing ACL command: )(?:org\S+: )?(.*\n)(?:(?:\t|java|org|Caused|joptsimple).*\n)*\n?",
    r"\1\2",
)
_ONLY_ALONE = {
    Way.THEIRS_AT_BARNABAS: "our broker serves no ACLs yet",
    Way.OURS_AT_BARNABAS: "our broker serves no ACLs yet",
}


def _refused(words: str, message: str) -> Step:
    """The message comes first; Kafka prints its whole help after it."""
    return step(
        f"kafka-acls {words}",
        expected="",
        expected_stderr=f"{message}\n(help)\n",
        code=1,
        compare_stderr=True,
    )


SCENARIOS = [
    Scenario(
        "what is wrong with a command line of ACLs",
        (
            _refused("--list", "One of --bootstrap-server or --bootstrap-controller must be specified"),
            _refused(
                "--list --bootstrap-server a:1 --bootstrap-controller a:1",
                "Only one of --bootstrap-server or --bootstrap-controller must be specified",
            ),
            _refused(
                "--bootstrap-server a:1 --add --list",
                "Command must include exactly one action: --list, --add, --remove. ",
            ),
            _refused(
                "--bootstrap-server a:1 --list --allow-principal User:a",
                'Option "[list]" can\'t be used with option "[allow-principal]"',
            ),
            _refused(
                "--bootstrap-server a:1 --add --producer --operation Read --topic t",
                'Option "[producer]" can\'t be used with option "[operation]"',
            ),
            _refused(
                "--bootstrap-server a:1 --add --principal User:a --topic t",
                "The --principal option is only available if --list is set",
            ),
            _refused(
                "--bootstrap-server a:1 --add --producer --allow-principal User:a",
                "With --producer you must specify a --topic",
            ),
            _refused(
                "--bootstrap-server a:1 --add --idempotent --allow-principal User:a",
                "The --idempotent option is only available if --producer is set",
            ),
            _refused(
                "--bootstrap-server a:1 --add --consumer --topic t --allow-principal User:a",
                "With --consumer you must specify a --topic and a --group and no --cluster or "
                "--transactional-id option should be specified.",
            ),
            _refused("--bootstrap-server a:1 --list --bogus", "bogus is not a recognized option"),
            _refused(
                "--bootstrap-server {bootstrap} --remove --force",
                "You must provide at least one resource: --topic <topic> or --cluster or --group <group> "
                "or --delegation-token <Delegation Token ID>",
            ),
            _refused(
                "--bootstrap-server {bootstrap} --add --topic t",
                "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.",
            ),
            _refused(
                "--bootstrap-server {bootstrap} --add --allow-principal User:a --topic t "
                "--resource-pattern-type match",
                "A '--resource-pattern-type' value of 'MATCH' is not valid when adding acls.",
            ),
            step(
                f"{_ACLS} --list --topic t --resource-pattern-type foo",
                expected=(
                    "Error while executing ACL command: "
                    "Cannot parse argument 'foo' of option resource-pattern-type\n"
                ),
                code=1,
            ),
            step(
                f"{_ACLS} --add --allow-principal alice --topic t",
                expected=(
                    "Error while executing ACL command: "
                    "expected a string in format principalType:principalName but got alice\n"
                ),
                code=1,
            ),
        ),
        rules=(_REASON, (r"(?s)\n(?:Option +Description|Try 'kafka-acls --help').*", "\n(help)\n")),
    ),
    Scenario(
        "a broker without an authorizer",
        (
            step(
                f"{_ACLS} --list",
                expected="Error while executing ACL command: No Authorizer is configured on the broker\n",
                code=1,
            ),
        ),
        rules=(_REASON,),
    ),
]

GUARDED = [
    Scenario(
        "rules are added, listed and removed",
        (
            step(f"{_ACLS} --add --allow-principal User:alice --operation Read --topic {{topic}}"),
            step(f"{_ACLS} --list --topic {{topic}}", until="READ"),
            step(f"{_ACLS} --add --allow-principal User:alice --operation read --topic {{topic}}"),
            step(f"{_ACLS} --remove --topic {{topic}} --operation Read --allow-principal User:alice --force"),
            step(f"{_ACLS} --list --topic {{topic}}", until="^$", expected="", code=0),
        ),
        without=_ONLY_ALONE,
    ),
    Scenario(
        "what a producer and a consumer need",
        (
            # Which of a resource's rules comes first, after one space more, changes from run to run.
            step(
                f"{_ACLS} --add --allow-principal User:bob --producer --idempotent --topic {{topic}} "
                "--transactional-id {topic}",
                lines_with="Adding",
                in_any_order=True,
            ),
            step(
                f"{_ACLS} --add --allow-principal User:bob --allow-host 10.0.0.1 --consumer "
                "--topic {topic2} --group {group}",
                lines_with="Adding",
                in_any_order=True,
            ),
            step(
                f"{_ACLS} --list --topic {{topic}} --topic {{topic2}} --group {{group}} --cluster "
                "--transactional-id {topic}",
                until="(?s)10.0.0.1.*GROUP",
                in_any_order=True,
            ),
            step(f"{_ACLS} --remove --force --cluster --topic {{topic}} --transactional-id {{topic}}"),
        ),
        without=_ONLY_ALONE,
    ),
    Scenario(
        "prefixes, denials and principals",
        (
            step(
                f"{_ACLS} --add --deny-principal User:eve --deny-host 10.0.0.1 --operation Write "
                "--topic {topic} --resource-pattern-type prefixed"
            ),
            step(f"{_ACLS} --list --topic {{topic}}-more --resource-pattern-type match", until="eve"),
            step(f"{_ACLS} --list --topic {{topic}} --resource-pattern-type any"),
            step(f"{_ACLS} --list --topic {{topic}}", expected="", code=0),
            step(f"{_ACLS} --list --topic {{topic}}-x --resource-pattern-type match --principal User:eve"),
            step(f"{_ACLS} --list --topic {{topic}}-x --resource-pattern-type match --principal User:else"),
            step(f"{_ACLS} --add --allow-principal User:a --operation Read --topic ''", code=1),
            step(f"{_ACLS} --remove --force --topic {{topic}} --resource-pattern-type prefixed"),
            step(f"{_ACLS} --list --topic {{topic}} --resource-pattern-type any", until="^$"),
        ),
        rules=(_REASON,),
        without=_ONLY_ALONE,
    ),
]
