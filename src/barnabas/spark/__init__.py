"""Topics as a data source of Spark: `spark.read.format("barnabas")`, streams, and sinks.

Speaks the Kafka protocol through `client` and its own bulk requests, so it serves any Kafka cluster. What
decides (`planning`) and what turns bytes into Arrow (`arrow`) does no I/O; `wire` holds the sockets; the
modules beside them are the classes that Spark calls.

Every worker of Spark comes through here before it meets kio, so this is where kio is kept light. A program
that imports this before it makes its session need not activate its environment (`worker_python`).
"""

from barnabas.base.light_kio import import_kio_lightly
from barnabas.spark.query_progress import progress
from barnabas.spark.worker_python import choose_worker_python

__all__ = ["progress"]

import_kio_lightly()
choose_worker_python()
