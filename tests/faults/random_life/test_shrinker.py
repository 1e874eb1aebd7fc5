"""The shrinker on traces of letters."""

from collections.abc import Sequence

from tests.faults.random_life.shrinker import shrink
from tests.faults.random_life.trace import Failure, Lived


def _live(steps: Sequence[str]) -> Lived[str]:
    """Fails at the first x behind a and b."""
    for number, step in enumerate(steps):
        if step == "x" and {"a", "b"} <= set(steps[:number]):
            return Lived(Failure(f"x at {number}", tuple(steps[: number + 1])), {})
    return Lived(None, {})


def _failure(letters: str) -> Failure[str]:
    found = _live(letters).failure
    assert found is not None
    return found


def test_only_the_steps_that_the_failure_needs_are_left() -> None:
    assert shrink(_failure("cdaeefbghix"), _live, attempts=100).steps == ("a", "b", "x")


def test_failure_of_another_kind_does_not_count() -> None:
    other = Failure("lost records", ("a", "b", "x"))
    assert shrink(other, _live, attempts=100) is other


def test_ends_after_the_attempts() -> None:
    taken = 0

    def count(steps: Sequence[str]) -> Lived[str]:
        nonlocal taken
        taken += 1
        return _live(steps)

    shrink(_failure("c" * 50 + "abx"), count, attempts=5)
    assert 0 < taken <= 5
