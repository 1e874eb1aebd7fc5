from tests.unit.group.classic.classic_driver import INITIAL_DELAY_MS, ClassicDriver, code

from barnabas.base.errors import ErrorCode


def test_the_first_rebalance_waits_for_more_members(driver: ClassicDriver) -> None:
    answer = driver.join(version=3)
    driver.advance(INITIAL_DELAY_MS - 1)
    assert not answer.is_done
    assert driver.state == "PreparingRebalance"
    driver.advance(1)
    assert code(answer) is ErrorCode.none


def test_every_new_member_extends_the_delay(driver: ClassicDriver) -> None:
    first = driver.join(version=3)
    driver.advance(INITIAL_DELAY_MS - 1)
    second = driver.join(version=3)
    driver.advance(1)
    assert not first.is_done
    driver.advance(INITIAL_DELAY_MS - 1)
    assert not first.is_done
    driver.advance(1)
    assert code(first) is code(second) is ErrorCode.none
    assert first.result().generation_id == 1


def test_the_delay_is_not_extended_beyond_the_rebalance_timeout(driver: ClassicDriver) -> None:
    first = driver.join(version=3, rebalance_ms=7_000)
    for _ in range(7):
        assert not first.is_done
        driver.advance(1_000)
        driver.join(version=3, rebalance_ms=7_000)
    assert first.is_done
    assert driver.group.generation == 1


def test_a_group_that_was_empty_waits_again(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable())
    assert driver.state == "Empty"
    answer = driver.join(version=3)
    driver.advance(INITIAL_DELAY_MS - 1)
    assert not answer.is_done
    driver.advance(1)
    assert answer.result().generation_id == 3


def test_without_a_delay_the_first_member_need_not_wait() -> None:
    driver = ClassicDriver(initial_rebalance_delay_ms=0)
    answer = driver.join(version=3)
    driver.advance(0)
    assert answer.result().generation_id == 1


def test_a_member_that_leaves_during_the_delay_leaves_an_empty_group(driver: ClassicDriver) -> None:
    answers = driver.joining(1)
    (member_id,) = answers
    driver.leave(member_id)
    assert code(answers[member_id]) is ErrorCode.unknown_member_id
    driver.advance(INITIAL_DELAY_MS)
    assert driver.state == "Empty"
    assert driver.group.generation == 1
