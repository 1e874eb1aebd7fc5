"""`python -m barnabas.pipelines.offline_load`"""

from barnabas.pipelines.offline_load.pipeline import main

if __name__ == "__main__":
    raise SystemExit(main())
