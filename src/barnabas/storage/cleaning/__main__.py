"""Starts the worker, with kio imported lightly first: half a second less where Hypothesis is installed."""

from barnabas.base.light_kio import import_kio_lightly

if __name__ == "__main__":
    import_kio_lightly()
    from barnabas.storage.cleaning.worker import main

    main()
