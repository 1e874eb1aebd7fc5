"""Where the lines of an axis are, and what stands beside them."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

_STEPS = (60, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
_DAY = 86_400
_YEAR = 365 * _DAY


def number_ticks(highest: float, most: int = 5) -> list[float]:
    """Round numbers from 0 to the first that is not below the highest."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    return [step * number for number in range(math.ceil(highest / step * 0.999) + 1)]


def time_ticks(first: float, last: float, most: int = 9) -> list[float]:
    """Round times between the two."""
    fitting = (each for each in _STEPS if (last - first) / each <= most)
    step = next(fitting, math.ceil((last - first) / most / _STEPS[-1]) * _STEPS[-1])
    begin = math.ceil(first / step)
    return [step * float(number) for number in range(begin, math.floor(last / step) + 1)]


def time_label(time: float, times: Sequence[float]) -> str:
    """The hour; the day for a tick at midnight if there are several days, the year if there are several."""
    moment = datetime.fromtimestamp(time, UTC)
    if times[-1] - times[0] > _YEAR:
        return f"{moment:%b %Y}"
    several = times[-1] - times[0] >= _DAY / 2
    return f"{moment:%b} {moment.day}" if several and time % _DAY == 0 else f"{moment:%H:%M}"


def clock(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%H:%M}"


def short(number: float) -> str:
    """1,234 or 12.3k: as many digits as a person reads."""
    if number >= 1e6:
        return f"{number / 1e6:.3g}M"
    if number >= 1e4:
        return f"{number / 1e3:.3g}k"
    if number >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.2g}"
