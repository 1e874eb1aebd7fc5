import random
import socket

import pytest

from barnabas.testing import ports


def test_free_port_is_free_and_below_those_of_connecting_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    port = ports.free_port()
    assert 10_000 <= port < ports._first_for_clients()
    with socket.create_server(("127.0.0.1", port)):
        monkeypatch.setattr(random, "randrange", lambda first, last: port)
        with pytest.raises(OSError, match="no free port"):
            ports.free_port()
