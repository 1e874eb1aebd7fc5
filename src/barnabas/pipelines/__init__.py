"""Pipelines on Spark: small PySpark projects to run as they are, or to copy and change.

`catalog.py` lists them. Each folder has a README, `transformations.py` (DataFrame in, DataFrame out) and
`pipeline.py` (which queries run, and where they write). `common` is what they share, `generator` makes
realistic events for them. They reach a cluster only through Spark's `format("barnabas")` and the admin
client.
"""
