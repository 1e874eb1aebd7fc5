from barnabas.cli.kafka.log_dirs import as_json
from barnabas.client.admin.log_dirs import LogDir, LogPartition
from barnabas.client.errors import BrokerError

STORAGE_ERROR = 56


def test_directory_that_is_offline_has_the_class_of_its_error() -> None:
    offline = LogDir("/b", BrokerError(STORAGE_ERROR), (), None, None)
    assert as_json({3: (offline,)}) == (
        '{"brokers":[{"broker":3,"logDirs":[{"partitions":[],'
        '"error":"org.apache.kafka.common.errors.KafkaStorageException","logDir":"/b"}]}],"version":1}'
    )


def test_only_requested_topics_are_shown() -> None:
    partitions = (LogPartition("s", 0, 1, 0, False), LogPartition("t", 2, 7, 5, True))
    directory = LogDir("/a", None, partitions, 100, 40)
    assert as_json({1: (directory,)}, frozenset({"t", "u"})) == (
        '{"brokers":[{"broker":1,"logDirs":[{"partitions":[{"partition":"t-2","size":7,"offsetLag":5,'
        '"isFuture":true}],"error":null,"logDir":"/a"}]}],"version":1}'
    )
