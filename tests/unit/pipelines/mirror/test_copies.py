"""Which topics a mirror may copy, with two real brokers and the topic of copies at each."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.pipelines.mirror.copies import CopiesTopic, Copy, CopyRules, Undecided
from barnabas.testing import Broker

TOPIC = "mirror-topics"


class Side(NamedTuple):
    cluster: Cluster
    server: str

    @property
    def copies(self) -> CopiesTopic:
        return CopiesTopic(self.server, TOPIC)

    @property
    def id(self) -> str:
        return self.cluster.cluster_id or ""


@pytest.fixture(scope="module")
def sides() -> Iterator[list[Side]]:
    with ExitStack() as stack:
        found = []
        for _ in range(3):
            broker = stack.enter_context(Broker())
            cluster = stack.enter_context(Cluster(ClientSettings.of(broker.bootstrap_servers)))
            cluster.metadata([])
            found.append(Side(cluster, broker.bootstrap_servers))
            found[-1].copies.ensure(cluster)
        yield found


def admitted(source: Side, target: Side, names: set[str], prefix: str = "") -> set[str]:
    """As a mirror that was just started decides."""
    rules = CopyRules(source.copies, target.copies, prefix)
    return rules.admitted(source.cluster, target.cluster, names)


def test_a_copy_is_not_copied_back(sides: list[Side]) -> None:
    here, there, _ = sides
    assert admitted(here, there, {"plain", "other"}) == {"plain", "other"}
    assert admitted(there, here, {"plain", "other", "native"}) == {"native"}
    assert admitted(here, there, {"plain", "native"}) == {"plain"}, "it is as it was, after a restart"


def test_names_with_a_prefix_do_not_grow(sides: list[Side]) -> None:
    here, there, _ = sides
    assert admitted(here, there, {"events"}, "here.") == {"events"}
    assert admitted(there, here, {"events", "here.events"}, "there.") == {"events"}
    assert admitted(here, there, {"events", "there.events"}, "here.") == {"events"}


def test_a_ring_of_three_is_open_at_its_end(sides: list[Side]) -> None:
    first, second, third = sides
    assert admitted(first, second, {"ring"}) == {"ring"}
    assert admitted(second, third, {"ring"}) == {"ring"}, "a copy of a copy is allowed"
    assert third.copies.read(third.cluster)["ring"] == Copy("ring", (first.id, second.id))
    assert admitted(third, first, {"ring"}) == set()


def test_a_mirror_within_one_cluster_copies_no_copy(sides: list[Side]) -> None:
    here = sides[0]
    assert admitted(here, here, {"own"}, "copy.") == {"own"}
    assert admitted(here, here, {"own", "copy.own"}, "copy.") == {"own"}


def test_mirrors_that_begin_at_once_do_not_both_go_on(
    sides: list[Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, _ = sides
    note = CopiesTopic.note

    def crossed(self: CopiesTopic, copies: dict[str, Copy]) -> None:
        """The other mirror has noted its copy between the look of this one and its note."""
        monkeypatch.setattr(CopiesTopic, "note", note)
        here.copies.note({"both": Copy("both", (there.id,))})
        note(self, copies)

    monkeypatch.setattr(CopiesTopic, "note", crossed)
    with pytest.raises(Undecided, match="both"):
        admitted(here, there, {"both"})
    assert "both" not in there.copies.read(there.cluster)
    assert admitted(there, here, {"both"}) == {"both"}, "the other one goes on"
    assert admitted(here, there, {"both"}) == set()
