"""Writes docs/files.md: every source file with the first sentence of its docstring, by package.

`make docs` runs it; `tests/unit/docs` compares the page with what it would write.
"""

import ast
import re
import textwrap
from pathlib import Path

COLUMNS = 120
ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "barnabas"
PAGE = ROOT / "docs" / "files.md"
HEAD = """# Files

Every file below `src/barnabas/` with the first sentence of its docstring. `make docs` writes this page.
"""


def render() -> str:
    packages: dict[Path, list[Path]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        packages.setdefault(path.parent, []).append(path)
    return HEAD + "".join(_section(package, files) for package, files in sorted(packages.items()))


def _section(package: Path, files: list[Path]) -> str:
    name = "/".join(package.relative_to(SOURCES).parts)
    lines = [f"\n## {name}/\n" if name else "\n## barnabas/\n"]
    owner = package / "__init__.py"
    if owner in files:
        lines.append(f"\n{textwrap.fill(first_sentence(owner), COLUMNS)}\n")
    rows = [f"| `{path.name}` | {first_sentence(path)} |\n" for path in files if path != owner]
    if rows:
        lines.append("\n| file | |\n|---|---|\n")
    return "".join([*lines, *rows])


def first_sentence(path: Path) -> str:
    """Of a file's docstring, on one line, fit for a cell of a table."""
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    if not docstring:
        raise ValueError(f"{path} has no docstring")
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.:])\s+(?=[A-Z(-])", paragraph)[0]
    return sentence.rstrip(":").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render())
