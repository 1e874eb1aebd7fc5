"""`python -m barnabas.pipelines.mirror`"""

from barnabas.pipelines.mirror.pipeline import main

if __name__ == "__main__":
    raise SystemExit(main())
