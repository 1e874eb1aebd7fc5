import pytest

from barnabas.cli.tool_errors import exception_name, exception_text
from barnabas.client.errors import BrokerError


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (3, "UnknownTopicOrPartitionException"),
        (7, "TimeoutException"),
        (17, "InvalidTopicException"),
        (80, "PreferredLeaderNotAvailableException"),
        (83, "EligibleLeadersNotAvailableException"),
        (85, "NoReassignmentInProgressException"),
        (-1, "UnknownServerException"),
    ],
)
def test_errors_have_the_names_of_javas_classes(code: int, name: str) -> None:
    assert exception_name(BrokerError(code)) == f"org.apache.kafka.common.errors.{name}"


def test_text_is_name_and_message() -> None:
    assert exception_text(BrokerError(3, "No such topic as x")) == (
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: No such topic as x"
    )
