import pyspark
import pytest
from pyspark.sql.types import StructType

from barnabas.spark.refused_reader import RefusedReader
from barnabas.spark.spark_version import STREAM_READS, STREAM_WRITES, OldSpark, require
from pyspark_barnabas import DefaultSource

OPTIONS = {"kafka.bootstrap.servers": "nowhere:1", "subscribe": "t", "topic": "t"}
ROW = StructType().add("value", "binary")


@pytest.mark.parametrize("version", ["4.0.0", "4.0.5", "4.1.2"])
def test_an_older_pyspark_is_refused_a_stream_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    reader = DefaultSource(OPTIONS).streamReader(ROW)
    assert isinstance(reader, RefusedReader)
    with pytest.raises(OldSpark, match=rf"Reading a stream .* 4\.2 or newer; this is {version}"):
        reader.initialOffset()
    assert DefaultSource(OPTIONS).reader(ROW) is not None


def test_an_older_pyspark_is_refused_a_sink_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.0.5")
    with pytest.raises(OldSpark, match=r"Writing a stream .* 4\.1 or newer; this is 4\.0\.5"):
        DefaultSource(OPTIONS).streamWriter(ROW, overwrite=False)


@pytest.mark.parametrize("version", ["4.2.0.dev1", "4.3.0", "4.10.0", "5.0.0rc1"])
def test_newer_versions_do_everything(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    require(STREAM_READS, "")
    require(STREAM_WRITES, "")
