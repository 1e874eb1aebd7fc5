"""What differs from run to run by its nature, replaced by placeholders before outputs are compared.

Replacements that a table's columns depend on keep their width: fresh names all have the same length, so that
padding is equal in every run and is compared.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.integration.tools.scenario import Rule

_PLACEHOLDER: Final = re.compile(r"\{(bootstrap|log_dir|topic\d*|group\d*|file:[^{}]+)\}")
_RULES: Final[tuple[Rule, ...]] = (
    # UUIDs, alone or at the end of a member's id.
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "{uuid}"),
    # Topic ids, cluster ids, ids of members and directories: 16 bytes in base 64. Not the names of an API or
    # of an exception, which may be as long.
    (r"(?<![\w.-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{22}(?![\w(-])", "{id}"),
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d([.,:]\d{3})?(Z|[+-]\d\d:?\d\d)?", "{time}"),
    (r"\b1[6-9]\d{11}\b", "{timestamp}"),
    (r"\b(127\.0\.0\.1|localhost):\d{4,5}\b", "{bootstrap}"),
)


@dataclass(frozen=True, slots=True)
class Names:
    """The values of one run's placeholders."""

    bootstrap: str
    log_dir: Path
    directory: Path
    """Where `{file:...}` are."""
    salt: str

    @classmethod
    def fresh(cls, bootstrap: str, log_dir: Path, directory: Path) -> "Names":
        return cls(bootstrap, log_dir, directory, os.urandom(4).hex())

    def value(self, placeholder: str) -> str:
        kind, _, name = placeholder.partition(":")
        if kind == "file":
            return str(self.directory / name)
        if kind == "bootstrap":
            return self.bootstrap
        if kind == "log_dir":
            return str(self.log_dir)
        return f"{kind}-{self.salt}"

    def fill(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda found: self.value(found[1]), text)

    def hide(self, text: str) -> str:
        """The values, back to their placeholders."""
        text = re.sub(rf"\b((?:topic|group)\d*)-{self.salt}", r"{\1}", text)
        text = re.sub(re.escape(f"{self.directory}{os.sep}") + r"([\w.-]+)", r"{file:\1}", text)
        return text.replace(str(self.log_dir), "{log_dir}").replace(self.bootstrap, "{bootstrap}")


def normalise(text: str, names: Names, rules: Iterable[Rule] = ()) -> str:
    text = names.hide(text)
    for pattern, replacement in (*_RULES, *rules):
        text = re.sub(pattern, replacement, text)
    return text


def write_files(files: Mapping[str, str], names: Names) -> None:
    for name, content in files.items():
        (names.directory / name).write_text(names.fill(content))
