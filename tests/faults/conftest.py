from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.faults.served import Served

Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """`serve(config, log_dirs)`: a broker of this test, not started yet; killed when the test ends."""
    with ExitStack() as brokers:

        def new(config: Mapping[str, object] | None = None, log_dirs: Sequence[Path] = ()) -> Served:
            return brokers.enter_context(Served(tmp_path, config, log_dirs))

        yield new
