"""Configuration: properties files, tables of keys, and the resolved values."""
