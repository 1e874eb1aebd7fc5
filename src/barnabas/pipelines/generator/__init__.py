"""Realistic events, the same ones for the same seed and start: access logs, page views and clicks, metrics.

    plan = Plan(seed=7, start_ms=1_767_225_600_000, span=3600, rate=50)
    run = Run(plan)
    for event in run: ...      # in the order of sending
    run.truth                  # what was made, to compare results with

`python -m barnabas.pipelines.generator` sends them to topics.
"""

from barnabas.pipelines.generator.plan import Plan
from barnabas.pipelines.generator.run import Event, Run
from barnabas.pipelines.generator.truth import Truth

__all__ = ["Event", "Plan", "Run", "Truth"]
