"""The materialized views of the report. `spark-pipelines` loads this file, in a session of its own.

A view whose tables are not there (a pipeline that never ran) is left out, and so is its part of the page.
"""

import json

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

from barnabas.pipelines.common.warehouse import Warehouse
from barnabas.pipelines.report.aggregates import VIEWS, View, is_there

spark = SparkSession.active()
_WAREHOUSE = Warehouse(
    str(spark.conf.get("barnabas.warehouse")), json.loads(str(spark.conf.get("barnabas.storage.options")))
)
_BUCKET = int(str(spark.conf.get("barnabas.bucket.seconds")))


def _define(view: View) -> None:
    dp.materialized_view(name=view.name, comment=view.purpose)(lambda: view.of(spark, _WAREHOUSE, _BUCKET))


for _view in VIEWS:
    if all(is_there(_WAREHOUSE, table) for table in _view.tables):
        _define(_view)
