"""`python -m barnabas.pipelines.generator`: realistic events to three topics, paced by their own time."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from barnabas.pipelines.common.topics import ensure
from barnabas.pipelines.generator.plan import Kind, Plan
from barnabas.pipelines.generator.run import Run
from barnabas.pipelines.generator.sending import Sending, send


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m barnabas.pipelines.generator", description=__doc__)
    option = parser.add_argument
    option("--bootstrap-server", default="localhost:9092", help="Brokers to connect to first [%(default)s].")
    option("--rate", type=float, default=500, help="Events per second, on average [%(default)s].")
    option("--duration", type=float, default=60, help="How many seconds to send [%(default)s].")
    option("--speed", type=float, default=1, help="Seconds of event time per second [%(default)s].")
    option("--unpaced", action="store_true", help="Send it all as fast as it goes.")
    option("--seed", type=int, default=1, help="The same seed and start make the same events [%(default)s].")
    option("--start", help="Time of the first event, 2026-11-16T09:00:00Z [so that the last one is now].")
    option("--partitions", type=int, default=4, help="Partitions of topics to create [%(default)s].")
    option("--prefix", default="", help="Before the names of the topics.")
    option("--truth", type=Path, help="Write what was made to this file (JSON).")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    given = _arguments(arguments)
    span = given.duration * given.speed
    if given.start:
        moment = datetime.fromisoformat(given.start)
        start = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    else:
        # Live events are of now; a span that is sent faster, or at once, ends now.
        start = time.time() - (span if given.unpaced or given.speed != 1 else 0)
    run = Run(Plan(given.seed, int(start * 1000), span, given.rate / given.speed), keep=False)
    topics = {kind: f"{given.prefix}{kind.value}" for kind in Kind}
    ensure(given.bootstrap_server, topics.values(), given.partitions)
    stopping = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    sending = Sending(given.bootstrap_server, topics, 0 if given.unpaced else given.speed)
    begin = time.monotonic()
    sent = send(run, sending, lambda: bool(stopping), _report)
    seconds = time.monotonic() - begin
    sys.stderr.write(f"\rsent {sent:,} events in {seconds:.1f} s, {sent / seconds:,.0f} per second\n")
    if given.truth:
        given.truth.write_text(json.dumps(run.truth.summary(), indent=2))
    return 0


def _report(sent: int, seconds: float) -> None:
    if sys.stderr.isatty() and sent % 5000 == 0:
        sys.stderr.write(f"\r{sent:,} events, {sent / max(seconds, 0.001):,.0f} per second")


if __name__ == "__main__":
    raise SystemExit(main())
