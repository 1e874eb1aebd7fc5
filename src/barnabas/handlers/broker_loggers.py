"""The broker's loggers under Kafka's names for levels (KIP-412): Python's own, by name, the root one as
`root`.

Changes last as long as the process. OFF is not a level that can be set, as in Kafka.
"""

import logging

ROOT = "root"
LEVELS = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": logging.DEBUG // 2,
    "WARN": logging.WARNING,
}


def levels() -> dict[str, str]:
    """Every logger and the level it works at: its own, or that of the nearest parent that has one."""
    manager = logging.root.manager
    names = sorted(name for name, found in manager.loggerDict.items() if isinstance(found, logging.Logger))
    return {ROOT: _name_of(logging.root)} | {name: _name_of(logging.getLogger(name)) for name in names}


def exists(name: str) -> bool:
    return name == ROOT or isinstance(logging.root.manager.loggerDict.get(name), logging.Logger)


def set_level(name: str, level: str) -> None:
    _logger(name).setLevel(LEVELS[level])


def unset_level(name: str) -> None:
    """From now on the parent's level counts."""
    _logger(name).setLevel(logging.NOTSET)


def _logger(name: str) -> logging.Logger:
    return logging.root if name == ROOT else logging.getLogger(name)


def _name_of(logger: logging.Logger) -> str:
    """The coarsest of Kafka's levels that shows as much."""
    number = logger.getEffectiveLevel()
    fitting = [(value, name) for name, value in LEVELS.items() if value >= number]
    return min(fitting)[1] if fitting else "OFF"
