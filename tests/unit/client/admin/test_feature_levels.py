import pytest

from barnabas.client.admin.feature_levels import (
    FEATURES,
    UnknownLevel,
    feature_named,
    level_of,
    release_of,
    shown_level,
)


@pytest.mark.parametrize(
    ("release", "level"),
    [("3.3", 7), ("3.3-IV3", 7), ("3.6", 14), ("3.6-IV1", 13), ("3.7", 19), ("3.9.1", 21), ("4.3", 30)],
)
def test_release_stands_for_its_last_level(release: str, level: int) -> None:
    assert level_of(release) == level


@pytest.mark.parametrize("release", ["2.8", "3.3-IV2", "4.4", "", "x"])
def test_release_that_is_unknown_or_not_for_production_lists_the_known(release: str) -> None:
    with pytest.raises(UnknownLevel, match=r"Supported metadata.version are: 3.3-IV3, 3.4-IV0, .*, 4.4-IV0$"):
        level_of(release)


def test_levels_and_releases_are_each_others_inverse() -> None:
    assert all(level_of(release_of(level)) == level for level in range(7, 32))
    with pytest.raises(UnknownLevel):
        release_of(6)


@pytest.mark.parametrize(
    ("release", "defaults"),
    [("3.8", [0, 0, 0, 0, 0, 0]), ("4.0", [1, 2, 1, 0, 0, 0]), ("4.2-IV0", [1, 2, 1, 1, 1, 0])],
)
def test_defaults_grow_with_releases(release: str, defaults: list[int]) -> None:
    assert [each.default_level(level_of(release)) for each in FEATURES] == defaults


def test_dependencies_are_those_of_a_level() -> None:
    replicas = feature_named("eligible.leader.replicas.version")
    assert replicas.dependencies(1) == {"metadata.version": 23}
    assert replicas.dependencies(0) == {}
    with pytest.raises(
        UnknownLevel, match=r"No feature:eligible\.leader\.replicas\.version with feature level 2"
    ):
        replicas.dependencies(2)


def test_level_of_a_newer_cluster_is_shown_as_unknown() -> None:
    assert shown_level("metadata.version", 30) == "4.3-IV0"
    assert shown_level("metadata.version", 99) == "UNKNOWN 99"
    assert shown_level("group.version", 99) == "99"
