import pytest

from barnabas.base.deferred import Deferred, gather, in_sequence
from barnabas.base.errors import KafkaError, NotCoordinator, UnknownServerError


def test_callbacks_run_in_order_and_a_late_one_at_once() -> None:
    answer: Deferred[int] = Deferred()
    called: list[tuple[str, int]] = []
    answer.when_done(lambda done: called.append(("first", done.result())))
    answer.when_done(lambda done: called.append(("second", done.result())))
    assert not answer.is_done
    answer.complete(7)
    answer.when_done(lambda done: called.append(("late", done.result())))
    assert called == [("first", 7), ("second", 7), ("late", 7)]


def test_reading_the_value_raises_the_error() -> None:
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


def test_a_result_is_passed_on() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    first.when_done(second.settle_as)
    first.complete(7)
    assert second.result() == 7
    third: Deferred[int] = Deferred()
    third.settle_as(Deferred.failed(NotCoordinator("moved")))
    assert isinstance(third.error, NotCoordinator)


# --- sequences --------------------------------------------------------------------------------------------


@in_sequence
async def total(*parts: Deferred[int]) -> int:
    """The sum. A part that failed counts as 100."""
    found = 0
    for part in parts:
        try:
            found += await part
        except NotCoordinator:
            found += 100
    return found


def test_a_sequence_that_waits_for_nothing_is_done_at_once() -> None:
    assert total(Deferred.of(1), Deferred.of(2)).result() == 3


def test_a_sequence_goes_on_in_the_call_that_sets_what_it_waits_for() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    answer = total(first, Deferred.of(10), second)
    second.complete(2)
    assert not answer.is_done
    first.complete(1)
    assert answer.result() == 13


def test_an_error_is_raised_where_it_is_awaited() -> None:
    late: Deferred[int] = Deferred()
    answer = total(Deferred.failed(NotCoordinator()), late)
    late.fail(NotCoordinator())
    assert answer.result() == 200


@pytest.mark.parametrize("is_late", [True, False])
def test_an_error_that_a_sequence_raises_is_its_result(is_late: bool) -> None:
    @in_sequence
    async def refuse(after: Deferred[None]) -> None:
        await after
        raise NotCoordinator("no")

    after: Deferred[None] = Deferred() if is_late else Deferred.of(None)
    answer = refuse(after)
    if is_late:
        after.complete(None)
    assert isinstance(answer.error, NotCoordinator)


@pytest.mark.parametrize("is_late", [True, False])
def test_an_unexpected_error_is_logged_and_spoils_no_other_callback(
    caplog: pytest.LogCaptureFixture, is_late: bool
) -> None:
    @in_sequence
    async def break_down(after: Deferred[None]) -> None:
        await after
        raise ZeroDivisionError("nothing to divide by")

    after: Deferred[None] = Deferred() if is_late else Deferred.of(None)
    answer = break_down(after)
    called: list[bool] = []
    after.when_done(lambda _: called.append(True))
    if is_late:
        after.complete(None)
    assert isinstance(answer.error, UnknownServerError)
    assert "ZeroDivisionError: nothing to divide by" in answer.error.message
    assert "nothing to divide by" in caplog.text
    assert called == [True]
