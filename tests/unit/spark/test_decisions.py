import pytest

from barnabas.spark.decisions import MOST_CHARACTERS, Decision, Owner


def _owners(tasks: int) -> dict[int, Owner]:
    return {task: Owner(4000 + task, task % 3) for task in range(tasks)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "7",
        "1:2:3",
        '{"tasks":7}',
        '{"tasks":"1:2:3","run":7}',
        *(
            f'{{"tasks":"{tasks}"}}'
            for tasks in (
                "1:2",
                "1:2:3 x",
                "a:b:c",
                "-1:2:3",
                "\u00b2:1:1",
                "1:9223372036854775808:3",
                "1:2:32768",
            )
        ),
    ],
)
def test_the_metadata_of_another_program_is_no_decision(text: str) -> None:
    assert Decision.parsed(7, text) is None


def test_a_decision_is_read_as_it_was_written() -> None:
    decision = Decision(7, _owners(250), "run", ("before", "first"), "query", "plan", '{"t":{"0":5}}')
    assert Decision.parsed(7, str(decision)) == decision
    assert len(str(decision)) <= MOST_CHARACTERS
    assert Decision.parsed(0, str(Decision(0, {}))) == Decision(0, {})


def test_what_is_too_long_is_left_out_end_offsets_first() -> None:
    decision = Decision(7, _owners(250), "run", ("before",), "query", "plan", "x" * 2000)
    found = Decision.parsed(7, str(decision))
    assert found == Decision(7, _owners(250), "run", ("before",), "query", "plan")
    many = Decision.parsed(7, str(Decision(7, _owners(1000), "run", ("before",), "query", "plan", "{}")))
    assert many == Decision(7, {}, "run", ("before",), "query", "plan")
