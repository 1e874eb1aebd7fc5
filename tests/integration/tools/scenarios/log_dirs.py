"""kafka-log-dirs: two lines and the JSON, with its keys in Kafka's order."""

from tests.integration.tools.scenario import Scenario, new_topic, step

_LOG_DIRS = "kafka-log-dirs --bootstrap-server {bootstrap}"
_HEAD = (
    "Querying brokers for log directories information\nReceived log directory information from brokers 1\n"
)

SCENARIOS = [
    Scenario(
        "the directory of a partition",
        (
            *new_topic(),
            step(
                f"{_LOG_DIRS} --describe --topic-list {{topic}}",
                until=r'"partition":"\{topic\}-0"',
                expected=(
                    _HEAD + '{"brokers":[{"broker":1,"logDirs":[{"partitions":[{"partition":"{topic}-0",'
                    '"size":0,"offsetLag":0,"isFuture":false}],"error":null,"logDir":"{log_dir}"}]}],'
                    '"version":1}\n'
                ),
                code=0,
            ),
            step(
                f"{_LOG_DIRS} --describe --topic-list absent,,{{topic2}} --broker-list 1",
                expected=(
                    _HEAD + '{"brokers":[{"broker":1,"logDirs":[{"partitions":[],"error":null,'
                    '"logDir":"{log_dir}"}]}],"version":1}\n'
                ),
                code=0,
            ),
        ),
    ),
    Scenario(
        "brokers that are not there",
        (
            step(
                f"{_LOG_DIRS} --describe --broker-list 1,7,9",
                expected="",
                expected_stderr=(
                    "ERROR: The given brokers do not exist from --broker-list: 7,9. "
                    "Current existent brokers: 1\n"
                ),
                compare_stderr=True,
                code=1,
            ),
            step(f"{_LOG_DIRS} --describe --broker-list one", expected="", code=1),
            step(_LOG_DIRS, expected="", code=1),
        ),
    ),
]
