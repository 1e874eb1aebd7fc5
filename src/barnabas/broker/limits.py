"""Limits of the process: the number of open files."""

import logging
import resource

from barnabas.base.descriptors import UNLIMITED, DescriptorLimits

logger = logging.getLogger("broker")

_COMFORTABLE = 8192


def raise_open_files_limit() -> DescriptorLimits:
    """Raise the soft limit: each connection and each log in use takes a file descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else UNLIMITED
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError) as error:
            logger.warning("Cannot raise the limit of open files from %d: %s", soft, error)
    if soft < _COMFORTABLE:
        logger.warning("Only %d files may be open: raise `ulimit -n` for many partitions or clients", soft)
    return DescriptorLimits(soft)
