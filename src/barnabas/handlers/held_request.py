"""Names a request that held the event loop too long, for the log and the counter."""

from barnabas.base.errors import KafkaError
from barnabas.base.loop_holds import LoopHolds
from barnabas.handlers.context import Request
from barnabas.handlers.registry import APIS
from barnabas.network.connection import Connection
from barnabas.wire.header import client_id_of, parse_header

_LONGEST_CLIENT_ID = 100


def api_name(api_key: int) -> str:
    api = APIS.get(api_key)
    return f"API key {api_key}" if api is None else api.name


def details_of(request: Request) -> str:
    return _details(
        request.version, request.client_id, f"{request.peer.host}:{request.peer.port}", request.size
    )


def note_frame(holds: LoopHolds, connection: Connection, frame: memoryview, seconds: float) -> None:
    """The request in `frame`, which was just dispatched, held the loop for `seconds`."""
    try:
        header = parse_header(frame)
        client_id = client_id_of(frame)
    except (KafkaError, ValueError):
        holds.note("malformed request", seconds, f"peer {connection!r}, {len(frame)} bytes")
        return
    details = _details(header.version, client_id, repr(connection), len(frame))
    holds.note(api_name(header.api_key), seconds, details)


def _details(version: int, client_id: str | None, peer: str, size: int) -> str:
    name = "none" if client_id is None else repr(client_id[:_LONGEST_CLIENT_ID])
    return f"version {version}, client id {name}, peer {peer}, {size} bytes"
