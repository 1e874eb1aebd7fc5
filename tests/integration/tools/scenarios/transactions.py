"""kafka-transactions where there are none: heads of tables, and errors. Open ones: test_transactions.py."""

from tests.integration.tools.scenario import Scenario, new_topic, step

_TRANSACTIONS = "kafka-transactions --bootstrap-server {bootstrap}"

SCENARIOS = [
    Scenario(
        "a partition without producers",
        (
            *new_topic(),
            step(
                f"{_TRANSACTIONS} describe-producers --topic {{topic}} --partition 0",
                # {id} is LatestCoordinatorEpoch: 22 letters are taken for an id.
                expected=(
                    "ProducerId\tProducerEpoch\t{id}\tLastSequence\tLastTimestamp\t"
                    "CurrentTransactionStartOffset\t\n"
                ),
                code=0,
            ),
            step(f"{_TRANSACTIONS} describe-producers --topic {{topic}} --partition 0 --broker-id 1", code=0),
            step(
                f"{_TRANSACTIONS} find-hanging --topic {{topic}}",
                expected=(
                    "Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\t"
                    "Duration(min)\t\n"
                ),
                code=0,
            ),
            step(f"{_TRANSACTIONS} find-hanging --broker-id 1 --max-transaction-timeout 1", code=0),
            step(
                f"{_TRANSACTIONS} abort --topic {{topic}} --partition 0 --start-offset 5",
                expected_stderr=(
                    "Could not find any open transactions starting at offset 5 on partition {topic}-0\n"
                ),
                compare_stderr=True,
                code=1,
            ),
        ),
    ),
    Scenario(
        "a cluster without transactions",
        (
            step(
                f"{_TRANSACTIONS} list --transactional-id-pattern {{group}}",
                expected="TransactionalId\tCoordinator\tProducerId\tTransactionState\t\n",
                code=0,
            ),
            step(f"{_TRANSACTIONS} list --duration-filter 1000000", lines_with="^TransactionalId", code=0),
            step(f"{_TRANSACTIONS} describe --transactional-id {{group}}", expected="", code=1),
            step(
                f"{_TRANSACTIONS} forceTerminateTransaction --transactionalId {{group}}", expected="", code=0
            ),
            step(
                f"{_TRANSACTIONS} list --transactional-id-pattern {{group}}",
                until="Empty",
            ),
            step(f"{_TRANSACTIONS} describe --transactional-id {{group}}", code=0),
        ),
        rules=((r"((?:\{group\} *\t1|1 +\t\{group\}) *\t)\d+ +\t", r"\1{n}\t"),),
    ),
    Scenario(
        "command lines of the transactions tool that are wrong",
        (
            step(f"{_TRANSACTIONS}", code=1, expected=""),
            step(f"{_TRANSACTIONS} frob", code=1, expected=""),
            step(f"{_TRANSACTIONS} describe", code=1, expected=""),
            step(f"{_TRANSACTIONS} find-hanging", code=1, expected="", compare_stderr=True),
            step(
                f"{_TRANSACTIONS} find-hanging --broker-id 1 --partition 0",
                code=1,
                expected="",
                compare_stderr=True,
            ),
            step(f"{_TRANSACTIONS} abort --topic a --partition 0", code=1, expected="", compare_stderr=True),
            step(
                f"{_TRANSACTIONS} abort --topic a --partition 0 --producer-id 1",
                code=1,
                expected="",
                compare_stderr=True,
            ),
        ),
    ),
]
