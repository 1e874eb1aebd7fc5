"""Errors that the user of a pipeline can fix (a setting, an unreachable broker, a full disk): one line and an
exit status, never a traceback.
"""

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from barnabas.client.errors import ClientError
from barnabas.pipelines.common.reasons import reason_of
from barnabas.pipelines.common.settings import BadSetting

P = ParamSpec("P")
BAD_SETTING = 2
"""The status of argparse, too."""


def plainly(name: str) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """For the `main` of the pipeline of that name."""

    def decorate(main: Callable[P, int]) -> Callable[P, int]:
        @functools.wraps(main)
        def reported(*arguments: P.args, **named: P.kwargs) -> int:
            try:
                return main(*arguments, **named)
            except BadSetting as error:
                return _say(name, str(error), BAD_SETTING)
            except (ClientError, OSError) as error:
                return _say(name, str(error), 1)
            except (PySparkException, Py4JJavaError) as error:
                return _say(name, reason_of(error), 1)

        return reported

    return decorate


def _say(name: str, reason: str, status: int) -> int:
    sys.stderr.write(f"{name}: {reason}\n")
    return status
