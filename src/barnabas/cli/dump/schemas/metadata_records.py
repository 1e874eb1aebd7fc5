"""The records of the log `__cluster_metadata` of Apache Kafka: name and form, by record type."""

from barnabas.cli.dump.schema import Schema

METADATA_RECORDS: dict[int, tuple[str, Schema]] = {
    0: (
        "REGISTER_BROKER_RECORD",
        Schema(
            """
            brokerId int32
            isMigratingZkBroker bool 2+
            incarnationId uuid
            brokerEpoch int64
            endPoints []{}
                name string
                host string
                port uint16
                securityProtocol int16
            features []{}
                name string
                minSupportedVersion int16
                maxSupportedVersion int16
            rack string?
            fenced bool
            inControlledShutdown bool 1+
            logDirs []uuid 3+ #0
            cordonedLogDirs []uuid? 4+ #1 =null
            """,
            newest=4,
        ),
    ),
    1: ("UNREGISTER_BROKER_RECORD", Schema("brokerId int32; brokerEpoch int64")),
    2: ("TOPIC_RECORD", Schema("name string; topicId uuid")),
    3: (
        "PARTITION_RECORD",
        Schema(
            """
            partitionId int32
            topicId uuid
            replicas []int32
            isr []int32
            removingReplicas []int32
            addingReplicas []int32
            leader int32
            leaderRecoveryState int8 #0
            leaderEpoch int32
            partitionEpoch int32
            directories []uuid 1+
            eligibleLeaderReplicas []int32? 2+ #1 =null
            lastKnownElr []int32? 2+ #2 =null
            """,
            newest=2,
        ),
    ),
    4: ("CONFIG_RECORD", Schema("resourceType int8; resourceName string; name string; value string?")),
    5: (
        "PARTITION_CHANGE_RECORD",
        Schema(
            """
            partitionId int32
            topicId uuid
            isr []int32? #0 =null
            leader int32 #1 =-2
            replicas []int32? #2 =null
            removingReplicas []int32? #3 =null
            addingReplicas []int32? #4 =null
            leaderRecoveryState int8 #5 =-1
            directories []uuid? 1+ #8 =null
            eligibleLeaderReplicas []int32? 2+ #6 =null
            lastKnownElr []int32? 2+ #7 =null
            """,
            newest=2,
        ),
    ),
    7: ("FENCE_BROKER_RECORD", Schema("id int32; epoch int64")),
    8: ("UNFENCE_BROKER_RECORD", Schema("id int32; epoch int64")),
    9: ("REMOVE_TOPIC_RECORD", Schema("topicId uuid")),
    10: (
        "DELEGATION_TOKEN_RECORD",
        Schema(
            """
            owner string
            requester string
            renewers []string
            issueTimestamp int64
            maxTimestamp int64
            expirationTimestamp int64
            tokenId string
            """,
        ),
    ),
    11: (
        "USER_SCRAM_CREDENTIAL_RECORD",
        Schema(
            """
            name string
            mechanism int8
            salt bytes
            storedKey bytes
            serverKey bytes
            iterations int32
            """,
        ),
    ),
    12: ("FEATURE_LEVEL_RECORD", Schema("name string; featureLevel int16")),
    14: (
        "CLIENT_QUOTA_RECORD",
        Schema(
            """
            entity []{}
                entityType string
                entityName string?
            key string
            value float64
            remove bool
            """,
        ),
    ),
    15: ("PRODUCER_IDS_RECORD", Schema("brokerId int32; brokerEpoch int64; nextProducerId int64")),
    17: (
        "BROKER_REGISTRATION_CHANGE_RECORD",
        Schema(
            """
            brokerId int32
            brokerEpoch int64
            fenced int8 #0
            inControlledShutdown int8 1+ #1
            logDirs []uuid 2+ #2
            cordonedLogDirs []uuid? 3+ #3 =null
            """,
            newest=3,
        ),
    ),
    18: (
        "ACCESS_CONTROL_ENTRY_RECORD",
        Schema(
            """
            id uuid
            resourceType int8
            resourceName string
            patternType int8
            principal string
            host string
            operation int8
            permissionType int8
            """,
        ),
    ),
    19: ("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", Schema("id uuid")),
    20: ("NO_OP_RECORD", Schema("")),
    21: ("ZK_MIGRATION_RECORD", Schema("zkMigrationState int8")),
    22: ("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", Schema("name string; mechanism int8")),
    23: ("BEGIN_TRANSACTION_RECORD", Schema("name string? #0 =null")),
    24: ("END_TRANSACTION_RECORD", Schema("")),
    25: ("ABORT_TRANSACTION_RECORD", Schema("reason string? #0 =null")),
    26: ("REMOVE_DELEGATION_TOKEN_RECORD", Schema("tokenId string")),
    27: (
        "REGISTER_CONTROLLER_RECORD",
        Schema(
            """
            controllerId int32
            incarnationId uuid
            zkMigrationReady bool
            endPoints []{}
                name string
                host string
                port uint16
                securityProtocol int16
            features []{}
                name string
                minSupportedVersion int16
                maxSupportedVersion int16
            """,
        ),
    ),
    28: ("CLEAR_ELR_RECORD", Schema("topicName string")),
}
