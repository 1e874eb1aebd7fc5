"""Byte counts as readable text: `1.5 GiB`."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024


def shown_bytes(count: int) -> str:
    """One digit after the decimal point; bytes have none."""
    size = float(count)
    for unit in _UNITS[:-1]:
        # What would be rounded up to 1024 belongs to the next unit.
        if round(size, 1) < _STEP:
            return f"{count} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} {_UNITS[-1]}"
