"""What a random life ends with when the code under test breaks a promise."""


class Violation(Exception):
    """The broker or a target holds something else than the model says; the text says where and what."""


def require(condition: object, *what: object) -> None:
    if not condition:
        raise Violation(" ".join(map(str, what)))
