"""The one error of this package: what cannot be read, said in one line."""


class Unreadable(Exception):
    """The file, or what was asked of it, makes no sense from here on."""
