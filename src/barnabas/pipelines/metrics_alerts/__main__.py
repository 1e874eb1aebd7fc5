"""`python -m barnabas.pipelines.metrics_alerts`"""

from barnabas.pipelines.metrics_alerts.pipeline import main

if __name__ == "__main__":
    raise SystemExit(main())
