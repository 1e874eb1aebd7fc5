"""`python -m tests.faults.topic_life.flawed_serve FLAW serve ...`: `barnabas` with a planted flaw."""

import sys

import pytest
from tests.faults.topic_life import flaws

from barnabas.cli.main import main

if __name__ == "__main__":
    getattr(flaws, sys.argv[1])(pytest.MonkeyPatch())
    sys.exit(main(sys.argv[2:]))
