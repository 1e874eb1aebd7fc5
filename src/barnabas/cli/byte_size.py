"""Numbers of bytes for people: `1.5 GiB`."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024


def shown_bytes(count: int) -> str:
    """Three digits at most before the point, one behind it; bytes are whole."""
    size = float(count)
    for unit in _UNITS[:-1]:
        # What would be rounded up to 1024 belongs to the next unit.
        if round(size, 1) < _STEP:
            return f"{count} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} {_UNITS[-1]}"
