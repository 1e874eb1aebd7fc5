"""kio without Hypothesis.

`kio.static` imports Hypothesis wherever it happens to be installed, to offer strategies for its types.
That costs 0.4 s and 30 MB: more than everything else a broker does before it is ready. A broker has no
use for the strategies, so the entry points call `import_kio_lightly` before anything imports kio.
"""

import sys


def import_kio_lightly() -> None:
    """Import kio with Hypothesis out of sight. Nothing happens if either is already loaded."""
    if "hypothesis" in sys.modules or "kio.static.primitive" in sys.modules:
        return
    sys.modules["hypothesis"] = None  # type: ignore[assignment]  # None is Python's own mark for "refuse to import"
    try:
        import kio.static.primitive  # noqa: F401
    finally:
        del sys.modules["hypothesis"]
