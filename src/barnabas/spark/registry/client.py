"""Schemas by their id, or as a version of a subject, with the schemas they refer to. Blocking, and cached
for ever: the schema of an id never changes.

A request to an unavailable registry is retried a few times. Then RegistryUnavailable is raised.
"""

import base64
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Final

from barnabas.spark.registry.errors import BadRecord, RegistryUnavailable

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"
_ATTEMPTS: Final = 4
_PAUSE: Final = 0.5
_TOO_MANY, _SERVER_ERROR = 429, 500
_UNKNOWN: Final = frozenset({40401, 40402, 40403})
"""A subject, a version, a schema that the registry does not have. Any other 404 is a wrong address."""


@dataclass(frozen=True, slots=True)
class Access:
    """The address of a registry, and the credentials and headers it requires."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    ca_file: str | None = None
    timeout: float = 10.0

    @classmethod
    def of(
        cls,
        url: str,
        headers: dict[str, str],
        auth: tuple[str, str] | None,
        ca_file: str | None,
        timeout: float,
    ) -> "Access":
        given = dict(headers)
        if auth is not None:
            token = base64.b64encode(":".join(auth).encode()).decode()
            given["Authorization"] = f"Basic {token}"
        return cls(url.rstrip("/"), tuple(sorted(given.items())), ca_file, timeout)


@dataclass(frozen=True, slots=True)
class Schema:
    kind: str
    """AVRO, PROTOBUF or JSON."""
    text: str
    references: tuple[tuple[str, str], ...] = ()
    """Name and text of all schemas that this one needs, those first that others need."""


@dataclass(slots=True)
class RegistryClient:
    access: Access
    _schemas: dict[int, Schema] = field(default_factory=dict)

    def by_id(self, number: int) -> Schema:
        """Raises BadRecord for an id that the registry does not know, and RegistryUnavailable."""
        if number not in self._schemas:
            found = self._get(f"/schemas/ids/{number}")
            if found is None:
                raise BadRecord(f"the registry has no schema of the id {number}")
            self._schemas[number] = self._resolved(found)
        return self._schemas[number]

    def by_subject(self, subject: str, version: int | str) -> Schema:
        """Raises RegistryUnavailable, also for a subject that does not exist."""
        return self._resolved(self._version(subject, version))

    def _version(self, subject: str, version: int | str) -> dict[str, Any]:
        name = urllib.parse.quote(subject, safe="")
        found = self._get(f"/subjects/{name}/versions/{version}")
        if found is None:
            raise RegistryUnavailable(
                f"{self.access.url} has no version {version} of the subject {subject}. Its subjects: "
                f"{self.access.url}/subjects"
            )
        return found

    def _resolved(self, found: dict[str, Any]) -> Schema:
        references: dict[str, str] = {}
        self._collect(found, references)
        return Schema(found.get("schemaType") or AVRO, found["schema"], tuple(references.items()))

    def _collect(self, found: dict[str, Any], into: dict[str, str]) -> None:
        for each in found.get("references") or ():
            if each["name"] not in into:
                referred = self._version(each["subject"], each["version"])
                self._collect(referred, into)
                into[each["name"]] = referred["schema"]

    # --- HTTP ------------------------------------------------------------------------------------------

    def _get(self, path: str) -> dict[str, Any] | None:
        """Returns None if the registry does not have it."""
        request = urllib.request.Request(self.access.url + path, headers={"Accept": _ACCEPT})
        for key, value in self.access.headers:
            request.add_header(key, value)
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE * 2 ** (attempt - 1))
            try:
                with urllib.request.urlopen(
                    request, timeout=self.access.timeout, context=self._tls()
                ) as answer:
                    return dict(json.load(answer))
            except urllib.error.HTTPError as error:
                if _is_unknown(error):
                    return None
                reason = f"it answers {error.code} {error.reason}"
                if error.code < _SERVER_ERROR and error.code != _TOO_MANY:
                    break
            except (OSError, ValueError) as error:
                reason = str(error)
        raise RegistryUnavailable(f"The schema registry at {self.access.url} cannot be read: {reason}")

    def _tls(self) -> ssl.SSLContext | None:
        if not self.access.url.startswith("https:"):
            return None
        return ssl.create_default_context(cafile=self.access.ca_file)


def _is_unknown(error: urllib.error.HTTPError) -> bool:
    try:
        return json.load(error).get("error_code") in _UNKNOWN
    except (AttributeError, ValueError):
        return False


_clients: dict[Access, RegistryClient] = {}


def client_for(access: Access) -> RegistryClient:
    """The same within a process: Spark's Python workers run many tasks."""
    return _clients.setdefault(access, RegistryClient(access))
