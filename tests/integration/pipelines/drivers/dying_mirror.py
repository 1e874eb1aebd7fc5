"""A mirror in a process that dies (kill -9, with its JVM) at a chosen point of a chosen batch: `copying`
(somewhere within the copy), `copied` (before its offsets are remembered), `remembered`.

dying_mirror.py <point> <batch> <arguments of the pipeline>...
"""

import os
import signal
import sys
import threading
from typing import NoReturn

from barnabas.pipelines.mirror import copying, pipeline
from barnabas.pipelines.mirror.offset_log import OffsetLog


def die() -> NoReturn:
    os.killpg(0, signal.SIGKILL)
    raise AssertionError("still alive")


def arm(point: str, batch: int) -> None:
    write, append = copying.write, OffsetLog.append

    def dying_write(frame: object, server: str, application: str, version: int, *rest: object) -> None:
        if point == "copying" and version == batch:
            threading.Timer(0.3, die).start()
        write(frame, server, application, version, *rest)  # type: ignore[arg-type]
        if point == "copied" and version == batch:
            die()

    def dying_append(self: OffsetLog, *given: object) -> None:
        append(self, *given)  # type: ignore[arg-type]
        if point == "remembered" and given[-2] == batch:
            die()

    copying.write = dying_write  # type: ignore[assignment]
    OffsetLog.append = dying_append  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    arm(sys.argv[1], int(sys.argv[2]))
    raise SystemExit(pipeline.main(sys.argv[3:]))
