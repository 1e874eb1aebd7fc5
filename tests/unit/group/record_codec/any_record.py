"""Every kind of record, for properties that must hold for all of them."""

from hypothesis import strategies as st

from barnabas.base.ids import ZERO_UUID
from barnabas.group.records import (
    ClassicGroupMetadata,
    ClassicGroupValue,
    ClassicMemberValue,
    ClassicProtocols,
    CommittedOffset,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    ConsumerGroupValue,
    ConsumerMemberValue,
    CurrentAssignmentValue,
    GroupRecord,
    OffsetCommit,
    RegularExpressionValue,
    TargetMetadataValue,
)

int8s = st.integers(-(1 << 7), (1 << 7) - 1)
int32s = st.integers(-(1 << 31), (1 << 31) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
# From 127 bytes on a compact length has two bytes.
texts = st.text(max_size=6) | st.sampled_from(["x" * 126, "x" * 127, "\u00fc" * 200])
maybe_texts = st.none() | texts
byte_strings = st.binary(max_size=40)
topic_ids = st.uuids()
epoched = st.dictionaries(topic_ids, st.dictionaries(int32s, int32s, max_size=4), max_size=3)

committed_offsets = st.builds(
    CommittedOffset, int64s, int32s, texts, int64s, st.just(-1), st.just(ZERO_UUID) | topic_ids
)
expiring_offsets = st.builds(
    CommittedOffset,
    int64s,
    st.just(-1),
    texts,
    int64s,
    int64s.filter(lambda at: at != -1),
    st.just(ZERO_UUID),
)
offset_commits = st.builds(
    OffsetCommit, texts, texts, int32s, st.one_of(st.none(), committed_offsets, expiring_offsets)
)
classic_members = st.builds(
    ClassicMemberValue, texts, maybe_texts, texts, texts, int32s, int32s, byte_strings, byte_strings
)
classic_groups = st.builds(
    ClassicGroupMetadata,
    texts,
    st.none()
    | st.builds(
        ClassicGroupValue,
        texts,
        int32s,
        maybe_texts,
        maybe_texts,
        int64s,
        st.lists(classic_members, max_size=3).map(tuple),
    ),
)
consumer_groups = st.builds(
    ConsumerGroupMetadata, texts, st.none() | st.builds(ConsumerGroupValue, int32s, int64s)
)
partition_metadata = st.builds(ConsumerGroupPartitionMetadata, texts, st.none() | byte_strings)
consumer_members = st.builds(
    ConsumerGroupMemberMetadata,
    texts,
    texts,
    st.none()
    | st.builds(
        ConsumerMemberValue,
        maybe_texts,
        maybe_texts,
        texts,
        texts,
        st.lists(texts, max_size=3).map(tuple),
        maybe_texts,
        int32s,
        maybe_texts,
        st.none()
        | st.builds(
            ClassicProtocols, int32s, st.lists(st.tuples(texts, byte_strings), max_size=3).map(tuple)
        ),
    ),
)
target_metadata = st.builds(
    ConsumerGroupTargetAssignmentMetadata, texts, st.none() | st.builds(TargetMetadataValue, int32s, int64s)
)
target_assignments = st.builds(
    ConsumerGroupTargetAssignmentMember,
    texts,
    texts,
    st.none() | st.dictionaries(topic_ids, st.frozensets(int32s, max_size=5), max_size=3),
)
current_assignments = st.builds(
    ConsumerGroupCurrentMemberAssignment,
    texts,
    texts,
    st.none() | st.builds(CurrentAssignmentValue, int32s, int32s, int8s, epoched, epoched),
)
regular_expressions = st.builds(
    ConsumerGroupRegularExpression,
    texts,
    texts,
    st.none() | st.builds(RegularExpressionValue, st.frozensets(texts, max_size=4), int64s, int64s),
)

any_record: st.SearchStrategy[GroupRecord] = st.one_of(
    offset_commits,
    classic_groups,
    consumer_groups,
    partition_metadata,
    consumer_members,
    target_metadata,
    target_assignments,
    current_assignments,
    regular_expressions,
)
