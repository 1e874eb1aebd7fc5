"""One configuration key: its type, default, what is allowed, and how a value is read and printed.

Types and printed forms are those of Kafka's `ConfigDef`, so that DescribeConfigs answers what Kafka answers.
The default is kept as text, as it is described. Documentation is kept in `documentation.py`, because it
is seldom requested.
"""

import math
from enum import Enum, IntEnum
from typing import NamedTuple

from barnabas.base.config.validators import Range, Validator, Value
from barnabas.base.errors import InvalidConfig

__all__ = [
    "ConfigError",
    "ConfigKey",
    "ConfigType",
    "Importance",
    "UpdateMode",
    "Value",
    "evaluate_product",
    "format_value",
]


class ConfigType(IntEnum):
    """The numbers are those of the DescribeConfigs response (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class UpdateMode(Enum):
    """Where a broker key may be changed while the broker runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class ConfigError(InvalidConfig):
    """A bad configuration. The text is one line that names the key, the value and what is allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"Invalid value {_one_line(value)} for configuration {name}: must be {allowed}")
        self.name: str = name

    @classmethod
    def saying(cls, name: str, message: str) -> "ConfigError":
        """An error that is not about one value of one key."""
        error = cls(name, None, "")
        error.args = (message,)
        error.message = message
        return error


def _one_line(value: object) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


_INTEGER_BITS = {ConfigType.INT: 32, ConfigType.SHORT: 16, ConfigType.LONG: 64}
_NOUNS = {
    ConfigType.BOOLEAN: "true or false",
    ConfigType.INT: "an integer",
    ConfigType.SHORT: "an integer",
    ConfigType.LONG: "an integer",
    ConfigType.DOUBLE: "a number",
    ConfigType.LIST: "a list",
    ConfigType.CLASS: "the name of a class",
}


class ConfigKey(NamedTuple):
    """A row of the tables. A named tuple, for its speed: every start makes four hundred."""

    name: str
    type: ConfigType
    default: str | None
    importance: Importance
    update: UpdateMode
    validator: Validator | None = None
    hidden: bool = False
    """Described only when set, as Kafka does with internal keys; so are the keys of the ZooKeeper days."""

    @property
    def is_sensitive(self) -> bool:
        """Values of a type Kafka does not know are hidden too: they may be a plugin's secrets."""
        return self.type in (ConfigType.PASSWORD, ConfigType.UNKNOWN)

    @property
    def is_read_only(self) -> bool:
        return self.update is UpdateMode.READ_ONLY

    @property
    def is_integer(self) -> bool:
        return self.type in _INTEGER_BITS

    @property
    def allowed(self) -> str:
        """What a value must be: "an integer of at least 1"."""
        noun = _NOUNS.get(self.type, "a string")
        return self.validator.describe(noun) if self.validator else noun

    def parse(self, text: str) -> Value:
        """The value that the text stands for, or ConfigError."""
        value = self._parse_type(text.strip())
        if self.validator is not None and not self.validator.allows(value):
            raise self.error(text)
        return value

    def parse_default(self) -> Value:
        return None if self.default is None else self._parse_type(self.default)

    def error(self, value: object) -> ConfigError:
        return ConfigError(self.name, "[hidden]" if self.is_sensitive else value, self.allowed)

    def _parse_type(self, text: str) -> Value:
        match self.type:
            case ConfigType.INT | ConfigType.LONG | ConfigType.SHORT:
                return self._parse_integer(text)
            case ConfigType.BOOLEAN:
                if text.lower() not in ("true", "false"):
                    raise self.error(text)
                return text.lower() == "true"
            case ConfigType.LIST:
                return tuple(item.strip() for item in text.split(",")) if text else ()
            case ConfigType.DOUBLE:
                return self._parse_double(text)
            case _:
                return text

    def _parse_integer(self, text: str) -> int:
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdecimal()):
            raise self.error(text)
        value = int(text)
        limit = 1 << (_INTEGER_BITS[self.type] - 1)
        if not -limit <= value < limit:
            lowest = self.validator.minimum if isinstance(self.validator, Range) else -limit
            raise ConfigError(self.name, text, f"an integer from {lowest} to {limit - 1}")
        return value

    def _parse_double(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise self.error(text) from None
        if math.isnan(value):
            raise self.error(text)
        return value


def evaluate_product(text: str) -> str:
    """`24*7` as `168`; anything else unchanged. Only files and the command line may say it this way."""
    factors = [factor.strip() for factor in text.split("*")]
    if len(factors) == 1 or not all(factor.isascii() and factor.isdecimal() for factor in factors):
        return text
    return str(math.prod(map(int, factors)))


def format_value(value: Value) -> str | None:
    """The text of a parsed value, as Kafka prints it."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return _format_double(value)
        case _:
            return str(value)


def _format_double(value: float) -> str:
    """Java's `Double.toString`: scientific notation below 1e-3 and from 1e7 on."""
    if value == 0 or 1e-3 <= abs(value) < 1e7 or math.isinf(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, repr(value))
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        sign, digits = ("-", digits[1:]) if digits[0] == "-" else ("", digits)
        whole, _, fraction = digits.partition(".")
        shift = len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")) + 1)
        significant = (whole + fraction).strip("0") or "0"
        digits, exponent = f"{sign}{significant[0]}.{significant[1:] or '0'}", str(shift)
    elif "." not in digits:
        digits += ".0"
    return f"{digits}E{int(exponent)}"
