"""Opens the Python clients by name, each imported when it is used: one that is missing hurts no other."""

from tests.integration.clients.drivers.transaction_client import TransactionalProducer, TransactionSettings


def open_transactional_producer(
    name: str, bootstrap_servers: str, settings: TransactionSettings
) -> TransactionalProducer:
    if name == "kafka-python":
        from tests.integration.clients.drivers.transaction_kafka_python import KafkaPythonTransactions

        return KafkaPythonTransactions(bootstrap_servers, settings)
    if name == "aiokafka":
        from tests.integration.clients.drivers.transaction_aiokafka import AiokafkaTransactions

        return AiokafkaTransactions(bootstrap_servers, settings)
    from tests.integration.clients.drivers.transaction_confluent import ConfluentTransactions

    return ConfluentTransactions(bootstrap_servers, settings)
