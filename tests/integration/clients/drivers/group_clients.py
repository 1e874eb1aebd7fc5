"""Opens the Python clients by name, each imported when it is used: one that is missing hurts no other."""

from tests.integration.clients.drivers.group_client import GroupClient, GroupSettings, Listener


def open_group_client(
    name: str, bootstrap_servers: str, settings: GroupSettings, listener: Listener
) -> GroupClient:
    if name == "kafka-python":
        from tests.integration.clients.drivers.group_kafka_python import KafkaPythonGroupClient

        return KafkaPythonGroupClient(bootstrap_servers, settings, listener)
    if name == "aiokafka":
        from tests.integration.clients.drivers.group_aiokafka import AiokafkaGroupClient

        return AiokafkaGroupClient(bootstrap_servers, settings, listener)
    from tests.integration.clients.drivers.group_confluent import ConfluentGroupClient

    return ConfluentGroupClient(bootstrap_servers, settings, listener)
