"""The reason of a failure, out of texts as Spark 4.3 makes them (frames and plans cut short)."""

import pytest

from barnabas.pipelines.common.reasons import reason_of

_TOO_LARGE = "A record of 2000074 bytes for out-0 is larger than the topic's max.message.bytes allows"
_QUERY = (
    "=== Streaming Query ===\nIdentifier: [id = a8e555fc, runId = e5261695]\nCurrent Offsets: {}\n\n"
    "Logical Plan:\nWriteToMicroBatchDataSource barnabas\nValueError: not this line\n"
)
_FRAMES = (
    'Traceback (most recent call last):\n  File "sink.py", line 52, in write_once\n'
    "    return write_once(task, filled)\n           ^^^^^^^^^^^^^^^^\n"
)
_SINK = (
    "[STREAM_FAILED] Query [id = a8e555fc, runId = e5261695] terminated with exception: [PYTHON_EXCEPTION] "
    f"An exception was thrown from the Python worker: {_FRAMES}"
    f"barnabas.spark.wire.errors.RecordTooLarge: {_TOO_LARGE}\n SQLSTATE: 38000 SQLSTATE: XXKST\n{_QUERY}"
)
_FOREACH_BATCH = (
    "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch "
    f"sink. Reason: An exception was raised by the Python Proxy. Return Message: {_FRAMES}"
    "pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:\n"
    f"{_FRAMES}barnabas.spark.wire.errors.RecordTooLarge: {_TOO_LARGE}\n\n{_QUERY}"
)
_SOURCE = (
    "[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform "
    f"latestOffset: {_FRAMES}barnabas.spark.planning.data_loss.DataLoss: [KAFKA_DATA_LOSS] Some data may "
    f"have been lost. Reason: t-0: offset 0 is lost (log ends at 0)\n SQLSTATE: 38000\n{_QUERY}"
)
_CONDITION = (
    "[STREAM_FAILED] Query [id = 558a89e2, runId = a286469c] terminated with exception: [CAST_INVALID_INPUT] "
    'The value \'xxx\' of the type "STRING" cannot be cast to "INT". SQLSTATE: 22018\n'
    f"== SQL (line 1, position 6) ==\ncast(value as int)\n SQLSTATE: XXKST\n{_QUERY}"
)
_TASK = (
    "An error occurred while calling o98.save.\n: org.apache.spark.SparkException: Job aborted due to stage "
    "failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 in stage 1.0 (TID 5) "
    "(host executor driver): org.apache.spark.SparkException: Task failed while writing rows.\n"
    "\tat org.apache.spark.sql.Writer.run(Writer.scala:1)\n"
    "Caused by: org.apache.spark.SparkException: Task failed\n\tat a.b.C(C.scala:2)\n"
    "Caused by: java.io.IOException: No space left on device\n\t... 10 more\n"
)
_LOST = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task "
    "0.3 in stage 1.0 (TID 5) (10.0.0.7 executor 1): ExecutorLostFailure (executor 1 exited caused by one "
    "of the running tasks) Reason: worker lost\nDriver stacktrace:"
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(_SINK, f"RecordTooLarge: {_TOO_LARGE}", id="sink"),
        pytest.param(_FOREACH_BATCH, f"RecordTooLarge: {_TOO_LARGE}", id="foreachBatch"),
        pytest.param(
            _SOURCE,
            "DataLoss: [KAFKA_DATA_LOSS] Some data may have been lost. Reason: t-0: offset 0 is lost "
            "(log ends at 0)",
            id="source",
        ),
        pytest.param(
            _CONDITION,
            '[CAST_INVALID_INPUT] The value \'xxx\' of the type "STRING" cannot be cast to "INT".',
            id="condition",
        ),
        pytest.param(_TASK, "IOException: No space left on device", id="causes of Java"),
        pytest.param(
            _LOST,
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: worker lost",
            id="lost executor",
        ),
        pytest.param(f"{_FRAMES}KeyError: 'in udf'\n", "KeyError: 'in udf'", id="builtin exception"),
        pytest.param(f"{_FRAMES}some.module.Interrupted\n", "Interrupted", id="without a message"),
        pytest.param("KafkaError: away", "KafkaError: away", id="plain"),
        pytest.param("", "RuntimeError", id="nothing"),
    ],
)
def test_the_reason_is_named(text: str, reason: str) -> None:
    assert reason_of(RuntimeError(text)) == reason


def test_an_exception_of_java_says_its_own_text() -> None:
    class OfJava:
        def toString(self) -> str:  # noqa: N802
            return "org.apache.spark.SparkException: [CODE] what is wrong"

    error = RuntimeError("An error occurred while calling o1.load.\n: what py4j makes of it")
    error.java_exception = OfJava()  # type: ignore[attr-defined]
    assert reason_of(error) == "SparkException: [CODE] what is wrong"
