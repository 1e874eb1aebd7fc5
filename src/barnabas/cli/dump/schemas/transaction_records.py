"""The records of `__transaction_state`, by record type."""

from barnabas.cli.dump.schema import RecordSchema, Schema, key_schema

TRANSACTION_RECORDS: dict[int, RecordSchema] = {
    0: RecordSchema(
        key_schema("transactionalId string"),
        Schema(
            """
            producerId int64
            previousProducerId int64 1+ #0 =-1
            nextProducerId int64 1+ #1 =-1
            producerEpoch int16
            nextProducerEpoch int16 1+ #3 =-1
            transactionTimeoutMs int32
            transactionStatus int8
            transactionPartitions []{}?
                topic string
                partitionIds []int32
            transactionLastUpdateTimestampMs int64
            transactionStartTimestampMs int64
            clientTransactionVersion int16 1+ #2
            """,
            newest=1,
            flexible=1,
        ),
    ),
}
