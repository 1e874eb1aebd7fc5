"""What the user of a pipeline can mend (a setting, a broker that is away, a full disk) is one line and a
status, never a traceback.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from barnabas.client.errors import ClientError
from barnabas.pipelines.common.settings import BadSetting

P = ParamSpec("P")
BAD_SETTING = 2
"""The status of argparse, too."""


def plainly(name: str) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """For the `main` of the pipeline of that name."""

    def decorate(main: Callable[P, int]) -> Callable[P, int]:
        @functools.wraps(main)
        def told(*arguments: P.args, **named: P.kwargs) -> int:
            try:
                return main(*arguments, **named)
            except BadSetting as error:
                return _say(name, str(error), BAD_SETTING)
            except (ClientError, OSError) as error:
                return _say(name, str(error), 1)
            except (PySparkException, Py4JJavaError) as error:
                return _say(name, _first_line(error), 1)

        return told

    return decorate


def _say(name: str, reason: str, status: int) -> int:
    sys.stderr.write(f"{name}: {reason}\n")
    return status


def _first_line(error: Any) -> str:
    """What Spark says first; the rest is where it was in its own code."""
    java = getattr(error, "java_exception", None)
    text = str(java.toString()) if java is not None else str(error)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
