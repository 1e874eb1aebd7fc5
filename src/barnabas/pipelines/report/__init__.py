"""Report: one HTML page with plots, from the tables of the other pipelines. See README.md."""
