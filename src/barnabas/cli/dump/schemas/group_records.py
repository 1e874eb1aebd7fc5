"""The records of `__consumer_offsets`: offsets, classic groups, consumer groups; by record type."""

from barnabas.cli.dump.schema import RecordSchema, Schema, key_schema

GROUP_RECORDS: dict[int, RecordSchema] = {
    0: RecordSchema(
        key_schema("group string; topic string; partition int32"),
        Schema("offset int64; metadata string; commitTimestamp int64", flexible=None),
    ),
    1: RecordSchema(
        key_schema("group string; topic string; partition int32"),
        Schema(
            """
            offset int64
            leaderEpoch int32 3+
            metadata string
            commitTimestamp int64
            expireTimestamp int64 1
            topicId uuid 4+ #0
            """,
            newest=4,
            flexible=4,
        ),
    ),
    2: RecordSchema(
        key_schema("group string"),
        Schema(
            """
            protocolType string
            generation int32
            protocol string?
            leader string?
            currentStateTimestamp int64 2+
            members []{}
                memberId string
                groupInstanceId string? 3+
                clientId string
                clientHost string
                rebalanceTimeout int32 1+
                sessionTimeout int32
                subscription bytes
                assignment bytes
            """,
            newest=4,
            flexible=4,
        ),
    ),
    3: RecordSchema(
        key_schema("groupId string"),
        Schema("epoch int32; metadataHash int64 #0"),
    ),
    4: RecordSchema(
        key_schema("groupId string"),
        Schema(
            """
            topics []{}
                topicId uuid
                topicName string
                numPartitions int32
                partitionMetadata []{}
                    partition int32
                    racks []string
            """,
        ),
    ),
    5: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            instanceId string?
            rackId string?
            clientId string
            clientHost string
            subscribedTopicNames []string
            subscribedTopicRegex string?
            rebalanceTimeoutMs int32
            serverAssignor string?
            classicMemberMetadata {}? #0
                sessionTimeoutMs int32
                supportedProtocols []{}
                    name string
                    metadata bytes
            """,
        ),
    ),
    6: RecordSchema(
        key_schema("groupId string"),
        Schema("assignmentEpoch int32; assignmentTimestamp int64 #0"),
    ),
    7: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            topicPartitions []{}
                topicId uuid
                partitions []int32
            """,
        ),
    ),
    8: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            memberEpoch int32
            previousMemberEpoch int32
            state int8
            assignedPartitions []{}
                topicId uuid
                partitions []int32
                assignmentEpochs []int32? #0
            partitionsPendingRevocation []{}
                topicId uuid
                partitions []int32
                assignmentEpochs []int32? #0
            """,
        ),
    ),
    16: RecordSchema(
        key_schema("groupId string; regularExpression string"),
        Schema("topics []string; version int64; timestamp int64"),
    ),
}

SUBSCRIPTION = Schema(
    """
    topics []string
    userData bytes?
    ownedPartitions []{} 1+
        topic string 1+
        partitions []int32 1+
    generationId int32 2+
    rackId string? 3+
    """,
    newest=3,
    flexible=None,
)
ASSIGNMENT = Schema(
    """
    assignedPartitions []{}
        topic string
        partitions []int32
    userData bytes?
    """,
    newest=3,
    flexible=None,
)
