"""A schema registry in memory, that answers as Apicurio Registry 3.0.9 was seen to answer under
/apis/ccompat/v7.

It fails on demand: `failures` are status codes, one for each request.
"""

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class SchemaRegistry:
    def __init__(self) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[str, list[int]] = {}
        self.failures: deque[int] = deque()
        self.requests: list[tuple[str, str | None]] = []
        """Path and Authorization."""
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.requests.append((self.path, self.headers.get("Authorization")))
                status, body = registry.answer(self.path)
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server: ThreadingHTTPServer = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread: threading.Thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/apis/ccompat/v7"

    def register(
        self, subject: str, kind: str, text: str, references: list[dict[str, Any]] | None = None
    ) -> int:
        """The id of the schema."""
        number = len(self.schemas) + 1
        self.schemas[number] = {"schema": text, "schemaType": kind, "references": references or []}
        self.subjects.setdefault(subject, []).append(number)
        return number

    def answer(self, path: str) -> tuple[int, object]:
        if self.failures:
            return self.failures.popleft(), {}
        parts = path.removeprefix("/apis/ccompat/v7").strip("/").split("/")
        if parts[:2] == ["schemas", "ids"]:
            found = self.schemas.get(int(parts[2]))
            unknown = {"message": f"No content with ID '{parts[2]}' was found.", "error_code": 40403}
            return (200, found) if found else (404, unknown)
        if parts[0] == "subjects" and parts[2:3] == ["versions"]:
            return self._version(parts[1], parts[3])
        return 404, {"message": "no such path"}

    def _version(self, subject: str, version: str) -> tuple[int, object]:
        numbers = self.subjects.get(subject)
        if numbers is None:
            return 404, {"message": f"No artifact with ID '{subject}' was found.", "error_code": 40401}
        index = len(numbers) if version == "latest" else int(version)
        number = numbers[index - 1]
        return 200, {"subject": subject, "version": index, "id": number, **self.schemas[number]}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
