"""The Spark session of a pipeline: on this machine, on a cluster or on a Connect server."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from barnabas.pipelines.common.settings import BadSetting, Settings
from barnabas.spark.worker_python import worker_python

_LOCAL_CHECKPOINTS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Renames instead of a checksummed file context: 0.08 s less per micro-batch, right for a local disk only."""
_MASTERS = ("local", "spark://", "yarn", "k8s://")
_CONNECT_PORT = 15002
_PATIENCE = 10.0
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def open_session(settings: Settings, name: str) -> SparkSession:
    """Raises BadSetting, OSError, and what Spark says."""
    builder = SparkSession.builder.appName(name)
    if settings.remote:
        _check_server(settings.remote)
        builder = builder.remote(settings.remote)
    else:
        if not settings.master.startswith(_MASTERS):
            raise BadSetting(f"--master {settings.master}: expected {', '.join(_MASTERS)}")
        # Else Spark takes whichever `python3` is first on the path.
        os.environ.setdefault("PYSPARK_PYTHON", worker_python())
        builder = builder.master(settings.master)
        for key, value in _at_start(settings).items():
            builder = builder.config(key, value)
    for key, value in session_options(settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def session_options(settings: Settings) -> dict[str, str]:
    """Settings that a running session accepts, also one on a server."""
    tasks = settings.shuffle_partitions or max(2, os.cpu_count() or 2)
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.shuffle.partitions": str(tasks),
        # Else the sizes of a batch decide which of its rows meet in a task, and might decide otherwise when
        # the batch runs again; exactly once rests on that.
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        "spark.sql.parquet.compression.codec": "zstd",
    }


def _at_start(settings: Settings) -> dict[str, str]:
    """Settings that only a new process accepts."""
    quiet = Path(__file__).with_name("log4j2.properties")
    options = {
        "spark.ui.enabled": str(settings.ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet.as_uri()}",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }
    if settings.master.startswith("local"):
        options["spark.sql.streaming.checkpointFileManagerClass"] = _LOCAL_CHECKPOINTS
        options["spark.driver.host"] = "127.0.0.1"
    return options


def _check_server(remote: str) -> None:
    """Spark itself would retry for many minutes to reach a Connect server, without a message."""
    try:
        url = urlsplit(remote)
        host, port = url.hostname, url.port or _CONNECT_PORT
    except ValueError as error:
        raise BadSetting(f"--remote {remote}: {error}") from None
    if url.scheme != "sc" or not host:
        raise BadSetting(f"--remote {remote}: expected sc://host:port")
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError as error:
        raise OSError(f"no Spark Connect server answers at {host}:{port} ({error})") from error
