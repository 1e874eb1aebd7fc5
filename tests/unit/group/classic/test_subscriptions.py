from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.consumer_protocol_subscription.v0.data import ConsumerProtocolSubscription as Version0
from kio.schema.consumer_protocol_subscription.v3.data import ConsumerProtocolSubscription as Version3
from kio.schema.types import TopicName
from kio.serial import entity_writer

from barnabas.group.classic.subscriptions import MalformedSubscription, subscribed_topics

TOPICS = st.frozensets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), max_size=5)


@given(TOPICS, st.none() | st.binary(max_size=10))
def test_topics_are_read_from_every_version(topics: frozenset[str], user_data: bytes | None) -> None:
    names = tuple(map(TopicName, topics))
    oldest = BytesIO(b"")
    entity_writer(Version0)(oldest, Version0(topics=names, user_data=user_data))
    newest = BytesIO(b"")
    entity_writer(Version3)(newest, Version3(topics=names, user_data=user_data, owned_partitions=()))
    assert subscribed_topics(b"\x00\x00" + oldest.getvalue()) == topics
    assert subscribed_topics(b"\x00\x03" + newest.getvalue()) == topics
    assert subscribed_topics(b"\x00\x63" + newest.getvalue()) == topics


@given(st.binary(max_size=60))
def test_other_bytes_are_malformed_or_a_subscription(metadata: bytes) -> None:
    with suppress(MalformedSubscription):
        assert all(isinstance(topic, str) for topic in subscribed_topics(metadata))


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\x00\x00",
        b"\x00\x00\xff\xff\xff\xff",
        b"\x00\x00\x7f\xff\xff\xff",
        b"\x00\x00\x00\x00\x00\x01\x00\x05abc",
        b"\x00\x00\x00\x00\x00\x01\xff\xff",
        b"\x00\x00\x00\x00\x00\x01\x00\x01\xff",
    ],
)
def test_a_cut_or_broken_subscription_is_malformed(metadata: bytes) -> None:
    with pytest.raises(MalformedSubscription):
        subscribed_topics(metadata)
