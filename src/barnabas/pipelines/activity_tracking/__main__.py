"""`python -m barnabas.pipelines.activity_tracking`"""

from barnabas.pipelines.activity_tracking.pipeline import main

if __name__ == "__main__":
    raise SystemExit(main())
