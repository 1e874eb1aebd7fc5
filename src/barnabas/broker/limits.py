"""Limits of the process: as many open files as it may have."""

import logging
import resource

logger = logging.getLogger("broker")

_COMFORTABLE = 8192


def raise_open_files_limit() -> None:
    """Each connection and each log in use takes a descriptor; the usual soft limit of 1024 is for shells."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else 1_048_576
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError) as error:
            logger.warning("Cannot raise the limit of open files from %d: %s", soft, error)
    if soft < _COMFORTABLE:
        logger.warning("Only %d files may be open: raise `ulimit -n` for many partitions or clients", soft)
