"""The error of a tool that cannot do what was asked."""


class ToolError(Exception):
    """The message is printed as it is, and the exit status is 1."""
