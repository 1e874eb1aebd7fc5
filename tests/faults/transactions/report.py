"""What a run did and found, as a page of Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.faults.transactions.anomalies import ALLOWED, Kind
from tests.faults.transactions.checker import Findings
from tests.faults.transactions.history import History, Outcome, Poll
from tests.faults.transactions.observed_log import ObservedLog

_MOST_CASES = 50


@dataclass(frozen=True, slots=True)
class Run:
    settings: Mapping[str, object]
    seconds: float
    faults: Mapping[str, int]


def report(run: Run, history: History, findings: Findings) -> str:
    total = sum(findings.kinds.values())
    parts = [
        "# Transactions under faults",
        f"{total} anomalies in {run.seconds:.0f} s." if total else f"No anomalies in {run.seconds:.0f} s.",
        "## Settings",
        _table(("setting", "value"), run.settings.items()),
        "## Operations",
        _table(("operation", "count", "a second"), _operations(history, run.seconds)),
        "## Transactions by role and outcome",
        _table(("role", *(each.value for each in Outcome)), _outcomes(history)),
        "## Faults injected",
        _table(("fault", "count"), sorted(run.faults.items())),
        "## Anomalies",
        _table(("anomaly", "count"), _counts(findings, are_allowed=False)),
        "## Allowed by Kafka's model, counted",
        _table(("what", "count"), _counts(findings, are_allowed=True)),
    ]
    if findings.anomalies:
        parts += ["## Cases", "\n".join(f"- {each}" for each in findings.anomalies[:_MOST_CASES])]
    return "\n\n".join(parts) + "\n"


def _operations(history: History, seconds: float) -> list[tuple[object, ...]]:
    log = ObservedLog(history)
    polls = list(log.polls())
    counts = {
        "transactions": len(history.transactions),
        "records sent": len(log.writer_of),
        "different records read": len(log.seen),
        "records read": sum(len(reads.offsets) for poll in polls for reads in poll.reads.values()),
        "polls with records": len(polls),
        "seeks, assignments and rebalances": _repositions(history),
        "transactions with offsets": sum(each.group is not None for each in history.transactions),
        "processes": len({each.process for each in history.transactions} | history.reading.keys()),
    }
    return [(name, count, f"{count / seconds:.1f}") for name, count in counts.items()]


def _repositions(history: History) -> int:
    return sum(not isinstance(step, Poll) for steps in history.reading.values() for step in steps)


def _outcomes(history: History) -> list[tuple[object, ...]]:
    counts: dict[str, Counter[Outcome]] = {}
    for transaction in history.transactions:
        role = transaction.process.partition("-")[0]
        counts.setdefault(role, Counter())[transaction.outcome] += 1
    return [(role, *(found[each] for each in Outcome)) for role, found in sorted(counts.items())]


def _counts(findings: Findings, *, are_allowed: bool) -> list[tuple[object, ...]]:
    found = Counter(each.kind for each in (findings.allowed if are_allowed else findings.anomalies))
    return [(kind.value, found[kind]) for kind in Kind if (kind in ALLOWED) == are_allowed]


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
