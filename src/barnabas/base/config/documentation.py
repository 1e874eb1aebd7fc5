"""One sentence or two on every key, in files beside this one, read when first requested.

They are properties files (`documentation/broker.properties` and so on), so that they read like the
configuration they explain.
"""

import pkgutil
from collections.abc import Mapping
from enum import Enum
from functools import cache

from barnabas.base.config.properties import parse_properties


class Scope(Enum):
    BROKER = "broker"
    TOPIC = "topic"
    GROUP = "group"


def documentation_of(scope: Scope, name: str) -> str | None:
    return _sentences(scope).get(name)


@cache
def _sentences(scope: Scope) -> Mapping[str, str]:
    path = f"documentation/{scope.value}.properties"
    text = pkgutil.get_data("barnabas.base.config", path)
    assert text is not None, path
    return parse_properties(text.decode(), source=path)
