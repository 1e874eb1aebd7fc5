"""The one error of index and snapshot files. These files can be rebuilt from the log: no client sees it."""


class CorruptIndex(Exception):
    """A derived file cannot be what belongs to its segment."""
