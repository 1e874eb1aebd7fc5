import pytest

from barnabas.base.errors import InvalidTopic
from barnabas.controller.topic_names import collisions, is_internal, is_legal_topic_name, validate_topic_name


@pytest.mark.parametrize("name", ["a", "A-b_c.d9", "x" * 249, "...", "__consumer_offsets"])
def test_legal_names(name: str) -> None:
    validate_topic_name(name)
    assert is_legal_topic_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "is longer than the max allowed length 249"),
        ("a b", "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("a/b", "contains one or more"),
        ("ä", "contains one or more"),
        ("a\n", "contains one or more"),
    ],
)
def test_illegal_names(name: str, reason: str) -> None:
    with pytest.raises(InvalidTopic) as raised:
        validate_topic_name(name)
    assert raised.value.message.startswith("Topic name is invalid: ")
    assert reason in raised.value.message


def test_dots_and_underscores_collide() -> None:
    assert collisions(["a.b", "plain", "c_d"]) == {"a_b": "a.b", "c_d": "c_d"}


def test_internal_topics() -> None:
    assert is_internal("__consumer_offsets")
    assert is_internal("__transaction_state")
    assert not is_internal("__mine")
