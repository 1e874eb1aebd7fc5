"""The data plane of the connector: records in and out of a cluster, over blocking sockets.

It moves whole record batches and looks at no more than their headers; rows are the business of
`barnabas.spark.arrow`. One thread drives it, as in Spark's Python workers.
"""
