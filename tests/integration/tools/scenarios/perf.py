"""kafka-producer-perf-test and kafka-consumer-perf-test: figures differ, words do not."""

from tests.integration.tools.scenario import NUMBERS, Scenario, new_topic, step

_PRODUCE = (
    "kafka-producer-perf-test --bootstrap-server {bootstrap} --topic {topic} --reporting-interval 600000"
)
"""Without a line for each interval of a run that takes long."""

SCENARIOS = [
    Scenario(
        "a producer and a consumer are measured",
        (
            *new_topic(),
            step(f"{_PRODUCE} --num-records 100 --record-size 10 --throughput -1", code=0),
            step(
                f"{_PRODUCE} --num-records 100 --payload-monotonic --throughput -1 --warmup-records 50",
                code=0,
            ),
            step(
                f"{_PRODUCE} --num-records 10 --record-size 10 --throughput -1 --producer-props linger.ms=0",
                code=0,
            ),
            step(
                "kafka-consumer-perf-test --bootstrap-server {bootstrap} --topic {topic} --num-records 210 "
                "--group {group}",
                code=0,
            ),
            step(
                "kafka-consumer-perf-test --bootstrap-server {bootstrap} --topic {topic} --messages 300 "
                "--group {group2} --timeout 500 --hide-header",
                code=0,
            ),
        ),
        rules=(NUMBERS, (r"\{time\}[:{n}]*", "{time}")),
    ),
    Scenario(
        "records go round one by one",
        (
            step("kafka-e2e-latency {bootstrap} {topic} 5 all 10", code=0),
            step(
                "kafka-e2e-latency --bootstrap-server {bootstrap} --topic {topic} --num-records 5 "
                "--producer-acks 1 --record-size 10 --record-key-size 4 --num-headers 1 "
                "--record-header-key-size 2 --record-header-size 3",
                code=0,
            ),
        ),
        rules=(NUMBERS, (r"\{n\}E-\{n\}", "{n}")),
    ),
]
