"""Offline load: any topics to Parquet tables, with their offsets. See README.md."""
