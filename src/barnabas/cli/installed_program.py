"""The command line that runs a program installed with this one.

The name alone if the shell finds it on the PATH. Otherwise the path, as in a virtual environment that is not
activated: relative if the program is below the current directory.
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
    """Directories of the installed scripts: beside the running script, and beside its Python."""
    return [Path(sys.argv[0]).absolute().parent, Path(sys.executable).parent]


def _as_typed(program: Path) -> str:
    found = shutil.which(program.name)
    # Compare paths, not resolved files: the Python of a virtual environment is a symbolic link.
    if found is not None and Path(found).absolute() == program.absolute():
        return program.name
    relative = os.path.relpath(program)
    if relative.startswith(os.pardir + os.sep):
        return shlex.quote(str(program.absolute()))
    return shlex.quote(relative if os.sep in relative else f"{os.curdir}{os.sep}{relative}")
