"""Figures as people read them."""

from __future__ import annotations

from benchmarks.metrics import Target

TIMES = "\N{MULTIPLICATION SIGN}"
MISSING = "\N{EN DASH}"

_DECIMALS = {"ms": 2, "s": 2}


def format_number(value: float, unit: str) -> str:
    decimals = _DECIMALS.get(unit, 0 if value >= 10 else 1)
    return f"{value:,.{decimals}f}"


def format_figure(value: float, unit: str) -> str:
    return f"{format_number(value, unit)} {unit}"


def format_target(target: Target | None, unit: str) -> str:
    if target is None:
        return ""
    sign = "≥" if target.at == "least" else "≤"
    if target.of == "ratio":
        return f"{sign} {target.bound:g}{TIMES}"
    return f"{sign} {target.bound:g} {unit}"
