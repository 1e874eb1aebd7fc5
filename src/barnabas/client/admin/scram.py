"""SCRAM credentials of users: DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554).

A password never leaves this process. The request has a random salt and the salted password of RFC 5802, which
is PBKDF2 with the hash of the mechanism.
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, check

DEFAULT_ITERATIONS = 4096
MIN_ITERATIONS = 4096
_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")
_NOT_FOUND = 91


class _Mechanism(NamedTuple):
    number: int
    hash_name: str


MECHANISMS = {"SCRAM-SHA-256": _Mechanism(1, "sha256"), "SCRAM-SHA-512": _Mechanism(2, "sha512")}
_NAMES = {mechanism.number: name for name, mechanism in MECHANISMS.items()}


def is_scram(name: str) -> bool:
    """Whether a setting's name is that of a mechanism."""
    return name in MECHANISMS


class Credential(NamedTuple):
    mechanism: str
    iterations: int
    password: str

    @classmethod
    def parse(cls, mechanism: str, text: str) -> "Credential":
        """From `iterations=8192,password=secret`, the iterations optional. Raises ValueError."""
        found = _CREDENTIAL.fullmatch(text)
        if found is None:
            shown = mechanism.replace("-", "_")
            raise ValueError(f"Invalid credential property {shown}={text}")
        iterations = DEFAULT_ITERATIONS if found[1] in (None, "-1") else _integer(found[1])
        if iterations < MIN_ITERATIONS:
            raise ValueError(
                f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for {mechanism}"
            )
        return cls(mechanism, iterations, found[2])


class Described(NamedTuple):
    mechanism: str
    iterations: int


def salted_password(credential: Credential, salt: bytes) -> bytes:
    hash_name = MECHANISMS[credential.mechanism].hash_name
    return hashlib.pbkdf2_hmac(hash_name, credential.password.encode(), salt, credential.iterations)


def describe_credentials(
    cluster: Cluster, users: Sequence[str] = ()
) -> dict[str, list[Described] | BrokerError]:
    """The credentials of these users, or of all. Users without credentials are omitted."""
    answer = cluster.request(
        "describe_user_scram_credentials", users=[{"name": name} for name in users] or None
    )
    check(answer.error_code, answer.error_message)
    found: dict[str, list[Described] | BrokerError] = {}
    for result in answer.results:
        if result.error_code == 0:
            found[result.user] = [
                Described(_NAMES.get(each.mechanism, "UNKNOWN"), each.iterations)
                for each in result.credential_infos
            ]
        elif result.error_code != _NOT_FOUND:
            found[result.user] = BrokerError(result.error_code, result.error_message)
    return found


def alter_credentials(
    cluster: Cluster, user: str, *, add: Sequence[Credential] = (), delete: Sequence[str] = ()
) -> None:
    """`delete` names mechanisms."""
    if any(not credential.password for credential in add):
        raise BrokerError(93, "Password must not be empty")
    answer = cluster.send_to_controller(
        "alter_user_scram_credentials",
        deletions=[{"name": user, "mechanism": MECHANISMS[name].number} for name in delete],
        upsertions=[_upsertion(user, credential, secrets.token_hex(16).encode()) for credential in add],
    )
    for result in answer.results:
        check(result.error_code, result.error_message)


def _upsertion(user: str, credential: Credential, salt: bytes) -> dict[str, object]:
    return {
        "name": user,
        "mechanism": MECHANISMS[credential.mechanism].number,
        "iterations": credential.iterations,
        "salt": salt,
        "salted_password": salted_password(credential, salt),
    }


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'For input string: "{text}"') from None
