"""`python -m barnabas.pipelines.log_collection`"""

from barnabas.pipelines.log_collection.pipeline import main

if __name__ == "__main__":
    raise SystemExit(main())
