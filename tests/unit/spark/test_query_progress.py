import json
from types import SimpleNamespace
from typing import Any

from barnabas.spark import progress

_OURS = {
    "description": "PythonMicroBatchStream",
    "startOffset": {"@ids a=X": {}, "a": {"0": 1}},
    "endOffset": {"@ids a=X": {}, "a": {"0": 3, "1": 5}, "b": {"0": 0}},
    "latestOffset": {"a": {"0": 10, "1": 5}, "b": {"0": 3}},
    "numInputRows": 7,
}


def _report(*sources: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(json=json.dumps({"batchId": 4, "sources": sources}))


def test_metrics_have_the_names_and_the_form_of_sparks_connector() -> None:
    found = progress(_report(_OURS))
    assert found is not None
    (source,) = found["sources"]
    assert source["metrics"] == {
        "minOffsetsBehindLatest": "0",
        "maxOffsetsBehindLatest": "7",
        "avgOffsetsBehindLatest": str(10 / 3),
    }
    assert source["offsetsBehindLatest"] == {"a": 7, "b": 3}
    assert (found["batchId"], source["numInputRows"]) == (4, 7)


def test_offsets_are_of_topics_alone() -> None:
    found = progress(_report(_OURS))
    assert found is not None
    assert found["sources"][0]["startOffset"] == {"a": {"0": 1}}
    assert found["sources"][0]["endOffset"] == {"a": {"0": 3, "1": 5}, "b": {"0": 0}}


def test_a_query_a_report_and_a_dict_say_the_same() -> None:
    report = _report(_OURS)
    texts = {**_OURS, **{key: json.dumps(value) for key, value in _OURS.items() if key.endswith("Offset")}}
    assert progress(SimpleNamespace(lastProgress=report)) == progress(report)
    as_texts = progress({"batchId": 4, "sources": [texts]})
    assert as_texts == progress(report)
    assert progress(SimpleNamespace(lastProgress=None)) is None


def test_a_partition_that_was_never_read_has_everything_to_go() -> None:
    found = progress(_report({"endOffset": {"a": {"0": 3}}, "latestOffset": {"a": {"0": 3, "1": 9}}}))
    assert found is not None
    assert found["sources"][0]["metrics"]["maxOffsetsBehindLatest"] == "9"


def test_other_sources_and_metrics_that_spark_knows_are_left_alone() -> None:
    files = {"description": "FileStreamSource", "startOffset": None, "endOffset": {"logOffset": 3}}
    rate = {"description": "rate", "startOffset": 0, "endOffset": 5, "latestOffset": 6}
    kafka = {**_OURS, "metrics": {"minOffsetsBehindLatest": "99"}}
    found = progress(_report(files, rate, kafka))
    assert found is not None
    assert found["sources"][:2] == [files, rate]
    assert found["sources"][2]["metrics"] == {"minOffsetsBehindLatest": "99"}
