"""Metrics and alerts: windows of operational metrics, and what is wrong with them. See README.md."""
