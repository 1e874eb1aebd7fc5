"""The one error of index and snapshot files. They can be rebuilt from the log: nobody outside sees it."""


class CorruptIndex(Exception):
    """A derived file cannot be what belongs to its segment."""
