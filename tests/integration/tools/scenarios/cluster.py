"""kafka-cluster: the id, the endpoints, and a broker that is not registered.

Wrong command lines are not compared: Kafka's parser of this tool ends the JVM.
"""

from tests.integration.tools.scenario import Rule, Scenario, step

_PORT: Rule = (r"127\.0\.0\.1 \d+ +", "127.0.0.1 {port} ")
_HEAD = "ID         HOST      PORT       RACK       STATE      ENDPOINT_TYPE  \n"
_NODE = "1          127.0.0.1 {port} null       unfenced   broker         \n"

SCENARIOS = [
    Scenario(
        "the id of the cluster",
        (
            step(
                "kafka-cluster cluster-id --bootstrap-server {bootstrap}",
                expected="Cluster ID: {id}\n",
                code=0,
            ),
            step(
                "kafka-cluster cluster-id -b {bootstrap} --config {file:client.properties}",
                expected=(
                    "Option --config has been deprecated and will be removed in a future version. "
                    "Use --command-config instead.\nCluster ID: {id}\n"
                ),
                code=0,
            ),
            step("kafka-cluster list-endpoints -b {bootstrap}", expected=_HEAD + _NODE, code=0),
            step(
                "kafka-cluster list-endpoints -b {bootstrap} --include-fenced-brokers",
                expected=_HEAD + _NODE,
                code=0,
            ),
            step(
                "kafka-cluster list-endpoints --bootstrap-controller {bootstrap} --include-fenced-brokers",
                expected="",
                code=1,
            ),
        ),
        files={"client.properties": "client.id=parity\n"},
        rules=(_PORT,),
    ),
    Scenario(
        "a broker that is not registered",
        (step("kafka-cluster unregister -b {bootstrap} --id 99", expected="", code=1),),
    ),
]
