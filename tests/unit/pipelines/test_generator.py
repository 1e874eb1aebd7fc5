import itertools
from collections import Counter, defaultdict
from datetime import datetime

import pytest

from barnabas.pipelines.generator import Event, Plan, Run
from barnabas.pipelines.generator.plan import Kind
from barnabas.pipelines.generator.traffic import Traffic
from barnabas.pipelines.generator.visits import SESSION_GAP_MS

START = 1_767_225_600_000  # 2026-01-01T00:00:00Z
PLAN = Plan(seed=7, start_ms=START, span=7200, rate=5)


@pytest.fixture(scope="module")
def run() -> tuple[Run, list[Event]]:
    made = Run(PLAN)
    return made, list(made)


def test_same_plan_makes_same_events(run: tuple[Run, list[Event]]) -> None:
    again = Run(PLAN)
    assert list(again) == run[1]
    assert again.truth == run[0].truth


@pytest.mark.parametrize("other", [Plan(8, START, 7200, 5), Plan(7, START + 3_600_000, 7200, 5)])
def test_another_seed_or_start_makes_others(run: tuple[Run, list[Event]], other: Plan) -> None:
    here, there = ({event.value for event in events} for events in (run[1], Run(other)))
    assert len(here & there) < len(here) / 1000  # garbage may look the same


def test_events_come_in_the_order_of_sending(run: tuple[Run, list[Event]]) -> None:
    times = [event.send_ms for event in run[1]]
    assert times == sorted(times)


def test_some_events_are_out_of_order_by_their_own_time_within_the_limit(
    run: tuple[Run, list[Event]],
) -> None:
    sent = {event.value: event.send_ms for event in reversed(run[1]) if event.kind is Kind.METRIC}
    delays = [sent[sample.encode()] - sample.time_ms for sample in run[0].truth.kept_samples]
    assert 0 < sum(delay > 0 for delay in delays) < len(delays) * 0.05
    assert max(delays) <= PLAN.max_lateness * 1000


def test_rate_is_about_what_was_requested(run: tuple[Run, list[Event]]) -> None:
    assert len(run[1]) / PLAN.span == pytest.approx(PLAN.rate, rel=0.3)


def test_truth_counts_what_each_topic_gets(run: tuple[Run, list[Event]]) -> None:
    made, events = run
    assert Counter(event.kind for event in events) == {kind: made.truth.sent(kind) for kind in Kind}
    assert made.truth.second_copies > 0
    assert {kind for kind, _ in made.truth.malformed} == set(Kind)


def test_truth_without_the_records_has_the_same_counts(run: tuple[Run, list[Event]]) -> None:
    lean = Run(PLAN, keep=False)
    assert sum(1 for _ in lean) == len(run[1])
    assert lean.truth.summary() == run[0].truth.summary()
    assert lean.truth.kept_logs == []


def test_sessions_of_a_user_lie_further_apart_than_the_gap(run: tuple[Run, list[Event]]) -> None:
    by_user = defaultdict(list)
    for session in run[0].truth.kept_sessions:
        by_user[session.user].append(session)
    returned = 0
    for sessions in by_user.values():
        for earlier, later in itertools.pairwise(sessions):
            returned += 1
            assert later.start_ms > earlier.end_ms + SESSION_GAP_MS
    assert returned > 0


def test_events_within_a_session_are_closer_than_the_gap(run: tuple[Run, list[Event]]) -> None:
    for visit in Run(PLAN).visits:
        times = sorted(each.time_ms for each in visit.activities)
        assert all(b - a < SESSION_GAP_MS for a, b in itertools.pairwise(times))


def test_truth_of_errors_is_that_of_the_lines(run: tuple[Run, list[Event]]) -> None:
    truth = run[0].truth
    assert sum(truth.errors.values()) == sum(line.status >= 500 for line in truth.kept_logs) > 0
    assert sum(truth.requests.values()) == len(truth.kept_logs)


def test_an_outage_makes_a_service_fail_more_often(run: tuple[Run, list[Event]]) -> None:
    truth = run[0].truth
    outage = truth.outages[0]
    lines = [line for line in truth.kept_logs if line.service == outage.service]
    inside = [line.status >= 500 for line in lines if outage.start_ms <= line.time_ms < outage.end_ms]
    outside = [line.status >= 500 for line in lines if not outage.start_ms <= line.time_ms < outage.end_ms]
    assert sum(inside) / len(inside) > 10 * sum(outside) / len(outside)


def test_incidents_are_a_spike_and_a_drift_that_reach_the_level_of_trouble(
    run: tuple[Run, list[Event]],
) -> None:
    truth = run[0].truth
    assert {each.kind for each in truth.incidents} == {"spike", "drift"}
    for each in truth.incidents:
        values = [
            sample.value
            for sample in truth.kept_samples
            if (sample.host, sample.metric) == (each.host, each.metric)
            and each.start_ms <= sample.time_ms < each.end_ms
        ]
        assert max(values) == pytest.approx(each.trouble, rel=0.05)


def test_evening_has_more_visits_than_night() -> None:
    plan = Plan(1, START, 86_400, 1)
    visits = Counter(moment // 3_600_000 % 24 for moment in Traffic(plan, 0.2).arrivals())
    assert sum(visits[hour] for hour in (19, 20, 21)) > 2.5 * sum(visits[hour] for hour in (7, 8, 9))


def test_bursts_bring_more_visits() -> None:
    traffic = Traffic(Plan(1, START, 7200, 1), 1.0)
    burst = traffic.bursts[0]
    assert traffic.intensity(burst.start_ms) > 1.9 * traffic.intensity(burst.start_ms - 1)


def test_lines_are_in_the_combined_format(run: tuple[Run, list[Event]]) -> None:
    line = run[0].truth.kept_logs[0]
    text = line.encode().decode()
    stamp = text[text.index("[") + 1 : text.index("]")]
    assert datetime.strptime(stamp, "%d/%b/%Y:%H:%M:%S %z").timestamp() * 1000 == line.time_ms
    assert text.endswith(f'" {line.latency_ms} {line.service}')
