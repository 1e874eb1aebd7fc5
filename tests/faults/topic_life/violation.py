"""What a life of topics ends with when the broker breaks a promise."""


class Violation(Exception):
    """The broker holds something else than the model says; the text says where and what."""


def require(condition: object, *what: object) -> None:
    if not condition:
        raise Violation(" ".join(map(str, what)))
