"""How a program that was installed with this one is called from where the user stands.

By its name where the shell finds it. In a virtual environment that is not activated, which is what `make run`
leaves, by its path: relative if it is below the current directory.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path


def command_of(name: str) -> str | None:
    """What to type in a shell to run `name`; None if it is not installed."""
    for directory in _directories():
        program = directory / name
        if program.is_file():
            return _as_typed(program)
    return None


def python_command() -> str:
    """What to type to run the Python that has this package."""
    return _as_typed(Path(sys.executable))


def _directories() -> list[Path]:
    """Where the scripts of this installation are: beside the one that runs, or beside its Python."""
    return [Path(sys.argv[0]).absolute().parent, Path(sys.executable).parent]


def _as_typed(program: Path) -> str:
    found = shutil.which(program.name)
    # By their paths: the Python of a virtual environment is a link to the one it was made with.
    if found is not None and Path(found).absolute() == program.absolute():
        return program.name
    relative = os.path.relpath(program)
    if relative.startswith(os.pardir + os.sep):
        return shlex.quote(str(program.absolute()))
    return shlex.quote(relative if os.sep in relative else f"{os.curdir}{os.sep}{relative}")
