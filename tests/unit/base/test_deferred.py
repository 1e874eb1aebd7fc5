import pytest

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import KafkaError, NotCoordinator


def test_whoever_waits_is_told_in_order_and_whoever_comes_late_at_once() -> None:
    answer: Deferred[int] = Deferred()
    told: list[tuple[str, int]] = []
    answer.when_done(lambda done: told.append(("first", done.result())))
    answer.when_done(lambda done: told.append(("second", done.result())))
    assert not answer.is_done
    answer.complete(7)
    answer.when_done(lambda done: told.append(("late", done.result())))
    assert told == [("first", 7), ("second", 7), ("late", 7)]


def test_an_error_is_raised_to_whoever_asks_for_the_value() -> None:
    answer: Deferred[int] = Deferred()
    answer.fail(NotCoordinator("elsewhere"))
    with pytest.raises(KafkaError, match="elsewhere"):
        answer.result()


def test_an_answer_is_given_once_and_not_read_before() -> None:
    answer: Deferred[None] = Deferred()
    with pytest.raises(AssertionError, match="no answer yet"):
        answer.result()
    answer.complete(None)
    with pytest.raises(AssertionError, match="once"):
        answer.complete(None)
    assert Deferred.of(None).is_done


def test_an_answer_can_be_put_in_other_words_and_so_can_an_error() -> None:
    answer: Deferred[int] = Deferred()
    words = answer.map(str, lambda error: error.code.name)
    answer.complete(7)
    assert words.result() == "7"
    failed: Deferred[int] = Deferred()
    failed.fail(NotCoordinator())
    assert failed.map(str, lambda error: error.code.name).result() == "not_coordinator"


def test_a_value_can_be_put_in_other_words_while_an_error_stays_what_it_is() -> None:
    assert Deferred.of(7).then(str).result() == "7"
    failed: Deferred[int] = Deferred()
    failed.fail(NotCoordinator("moved"))
    assert failed.then(str).error is failed.error


def test_an_error_in_the_putting_is_the_answer() -> None:
    def refuse(value: int) -> str:
        raise NotCoordinator("no")

    assert isinstance(Deferred.of(1).map(refuse, lambda error: "").error, NotCoordinator)


def test_gathered_answers_come_together_when_the_last_is_there() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    both = gather([first, second])
    second.complete(2)
    assert not both.is_done
    first.complete(1)
    assert both.result() == [1, 2]
    assert gather([]).result() == []


def test_gathered_answers_fail_with_the_first_error_once_all_are_there() -> None:
    first: Deferred[int] = Deferred()
    both = gather([first, Deferred.of(2)])
    first.fail(NotCoordinator("moved"))
    assert isinstance(both.error, NotCoordinator)
