"""`python -m barnabas.pipelines.report`"""

from barnabas.pipelines.report.pipeline import main

if __name__ == "__main__":
    raise SystemExit(main())
