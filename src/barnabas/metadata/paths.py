"""The paths of the tree: ZooKeeper's paths as Kafka uses them."""

BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONFIG = "/config"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
DELETE_TOPICS = "/admin/delete_topics"
LOG_DIRECTORIES = "/barnabas/log_directories"
"""Not part of Kafka: the log directories of each broker at its last start."""

REGISTRATIONS = "/barnabas/registrations"
"""Not part of Kafka: what outlives the session of a broker."""

TOPIC_CONFIGS = "/config/topics"
BROKER_CONFIGS = "/config/brokers"
GROUP_CONFIGS = "/config/groups"
DEFAULT_ENTITY = "<default>"
"""The child of /config/brokers for the cluster-wide default."""

# Nodes that must exist before the first broker starts, parents first (Kafka's persistent paths, and groups).
PERSISTENT = (
    "/admin",
    DELETE_TOPICS,
    "/barnabas",
    LOG_DIRECTORIES,
    REGISTRATIONS,
    "/brokers",
    BROKER_IDS,
    "/brokers/seqid",
    TOPICS,
    "/cluster",
    CONFIG,
    BROKER_CONFIGS,
    "/config/changes",
    "/config/clients",
    GROUP_CONFIGS,
    "/config/ips",
    TOPIC_CONFIGS,
    "/config/users",
    "/consumers",
    "/isr_change_notification",
    "/log_dir_event_notification",
)


def broker(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def registration(broker_id: int) -> str:
    return f"{REGISTRATIONS}/{broker_id}"


def log_directories(broker_id: int) -> str:
    return f"{LOG_DIRECTORIES}/{broker_id}"


def topic(name: str) -> str:
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, number: int) -> str:
    return f"{TOPICS}/{name}/partitions/{number}"


def partition_state(name: str, number: int) -> str:
    return f"{TOPICS}/{name}/partitions/{number}/state"


def topic_config(name: str) -> str:
    return f"{TOPIC_CONFIGS}/{name}"


def broker_config(broker_id: str) -> str:
    """`broker_id` as a resource name: empty for the cluster-wide default."""
    return f"{BROKER_CONFIGS}/{broker_id or DEFAULT_ENTITY}"


def group_config(group: str) -> str:
    return f"{GROUP_CONFIGS}/{escape(group)}"


def escape(name: str) -> str:
    """A free-form name as one path element. Topic names and numbers need no escape."""
    for character, code in (("%", "%25"), ("/", "%2F"), ("\0", "%00")):
        name = name.replace(character, code)
    return {".": "%2E", "..": "%2E%2E"}.get(name, name)


def unescape(element: str) -> str:
    for character, code in ((".", "%2E"), ("\0", "%00"), ("/", "%2F"), ("%", "%25")):
        element = element.replace(code, character)
    return element
