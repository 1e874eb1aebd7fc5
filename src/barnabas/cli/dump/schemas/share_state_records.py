"""The records of `__share_group_state`, by record type."""

from barnabas.cli.dump.schema import RecordSchema, Schema, key_schema

SHARE_STATE_RECORDS: dict[int, RecordSchema] = {
    0: RecordSchema(
        key_schema("groupId string; topicId uuid; partition int32"),
        Schema(
            """
            snapshotEpoch int32
            stateEpoch int32
            leaderEpoch int32
            startOffset int64
            deliveryCompleteCount int32 #0 =-1
            createTimestamp int64
            writeTimestamp int64
            stateBatches []{}
                firstOffset int64
                lastOffset int64
                deliveryState int8
                deliveryCount int16
            """,
        ),
    ),
    1: RecordSchema(
        key_schema("groupId string; topicId uuid; partition int32"),
        Schema(
            """
            snapshotEpoch int32
            leaderEpoch int32
            startOffset int64
            deliveryCompleteCount int32 #0 =-1
            stateBatches []{}
                firstOffset int64
                lastOffset int64
                deliveryState int8
                deliveryCount int16
            """,
        ),
    ),
}
