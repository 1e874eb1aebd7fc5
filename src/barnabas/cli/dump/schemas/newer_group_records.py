"""The records of `__consumer_offsets` that share groups and streams groups have, by record type."""

from barnabas.cli.dump.schema import RecordSchema, Schema, key_schema

SHARE_GROUP_RECORDS: dict[int, RecordSchema] = {
    10: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            rackId string?
            clientId string
            clientHost string
            subscribedTopicNames []string
            """,
        ),
    ),
    11: RecordSchema(
        key_schema("groupId string"),
        Schema("epoch int32; metadataHash int64"),
    ),
    12: RecordSchema(
        key_schema("groupId string"),
        Schema("assignmentEpoch int32; assignmentTimestamp int64 #0"),
    ),
    13: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            topicPartitions []{}
                topicId uuid
                partitions []int32
            """,
        ),
    ),
    14: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            memberEpoch int32
            previousMemberEpoch int32
            state int8
            assignedPartitions []{}
                topicId uuid
                partitions []int32
            """,
        ),
    ),
    15: RecordSchema(
        key_schema("groupId string"),
        Schema(
            """
            initializingTopics []{}
                topicId uuid
                topicName string
                partitions []int32
            initializedTopics []{}
                topicId uuid
                topicName string
                partitions []int32
            deletingTopics []{}
                topicId uuid
                topicName string
            """,
        ),
    ),
}

STREAMS_GROUP_RECORDS: dict[int, RecordSchema] = {
    17: RecordSchema(
        key_schema("groupId string"),
        Schema(
            """
            epoch int32
            metadataHash int64
            validatedTopologyEpoch int32 #0 =-1
            lastAssignmentConfigs []{}? #1
                key string
                value string
            """,
        ),
    ),
    19: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            instanceId string?
            rackId string?
            clientId string
            clientHost string
            rebalanceTimeoutMs int32
            topologyEpoch int32
            processId string
            userEndpoint {}?
                host string
                port uint16
            clientTags []{}
                key string
                value string
            """,
        ),
    ),
    20: RecordSchema(
        key_schema("groupId string"),
        Schema("assignmentEpoch int32; assignmentTimestamp int64 #0"),
    ),
    21: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            activeTasks []{}
                subtopologyId string
                partitions []int32
            standbyTasks []{}
                subtopologyId string
                partitions []int32
            warmupTasks []{}
                subtopologyId string
                partitions []int32
            """,
        ),
    ),
    22: RecordSchema(
        key_schema("groupId string; memberId string"),
        Schema(
            """
            memberEpoch int32
            previousMemberEpoch int32
            state int8
            activeTasks []{}
                subtopologyId string
                partitions []int32
                assignmentEpochs []int32? #0
            standbyTasks []{}
                subtopologyId string
                partitions []int32
                assignmentEpochs []int32? #0
            warmupTasks []{}
                subtopologyId string
                partitions []int32
                assignmentEpochs []int32? #0
            activeTasksPendingRevocation []{}
                subtopologyId string
                partitions []int32
                assignmentEpochs []int32? #0
            standbyTasksPendingRevocation []{}
                subtopologyId string
                partitions []int32
                assignmentEpochs []int32? #0
            warmupTasksPendingRevocation []{}
                subtopologyId string
                partitions []int32
                assignmentEpochs []int32? #0
            """,
        ),
    ),
    23: RecordSchema(
        key_schema("groupId string"),
        Schema(
            """
            epoch int32
            subtopologies []{}
                subtopologyId string
                sourceTopics []string
                sourceTopicRegex []string
                stateChangelogTopics []{}
                    name string
                    partitions int32
                    replicationFactor int16
                    topicConfigs []{}
                        key string
                        value string
                repartitionSinkTopics []string
                repartitionSourceTopics []{}
                    name string
                    partitions int32
                    replicationFactor int16
                    topicConfigs []{}
                        key string
                        value string
                copartitionGroups []{}
                    sourceTopics []int16
                    sourceTopicRegex []int16
                    repartitionSourceTopics []int16
            """,
        ),
    ),
}
