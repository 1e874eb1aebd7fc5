"""Offline load: any topics to tables, with their offsets. See README.md."""
