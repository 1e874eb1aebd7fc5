import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.config.keys import (
    ConfigError,
    ConfigKey,
    ConfigType,
    Importance,
    UpdateMode,
    Value,
    evaluate_product,
    format_value,
)
from barnabas.base.config.validators import (
    NonEmpty,
    RangeOr,
    ThrottledReplicas,
    Validator,
    at_least,
    between,
    items,
    one_of,
    one_of_any_case,
)
from barnabas.base.errors import ErrorCode, error_of


def key(kind: ConfigType, validator: Validator | None = None) -> ConfigKey:
    return ConfigKey("the.key", kind, None, Importance.MEDIUM, UpdateMode.READ_ONLY, validator)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.INT, " 12 ", 12),
        (ConfigType.INT, "+12", 12),
        (ConfigType.INT, "-2147483648", -(2**31)),
        (ConfigType.LONG, "9223372036854775807", 2**63 - 1),
        (ConfigType.SHORT, "-32768", -32768),
        (ConfigType.BOOLEAN, "TRUE", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.DOUBLE, "1.7976931348623157E308", 1.7976931348623157e308),
        (ConfigType.LIST, "", ()),
        (ConfigType.LIST, "a , b,,c", ("a", "b", "", "c")),
        (ConfigType.STRING, " a b ", "a b"),
        (ConfigType.PASSWORD, "secret", "secret"),
        (ConfigType.CLASS, "org.example.Policy", "org.example.Policy"),
    ],
)
def test_text_becomes_a_value_of_its_type(kind: ConfigType, text: str, value: Value) -> None:
    assert key(kind).parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "allowed"),
    [
        (ConfigType.INT, "abc", "an integer"),
        (ConfigType.INT, "", "an integer"),
        (ConfigType.INT, "1_000", "an integer"),
        (ConfigType.INT, "١٢", "an integer"),
        (ConfigType.INT, "1.5", "an integer"),
        (ConfigType.INT, "24*7", "an integer"),
        (ConfigType.INT, "2147483648", "an integer from -2147483648 to 2147483647"),
        (ConfigType.SHORT, "32768", "an integer from -32768 to 32767"),
        (
            ConfigType.LONG,
            "9223372036854775808",
            "an integer from -9223372036854775808 to 9223372036854775807",
        ),
        (ConfigType.BOOLEAN, "yes", "true or false"),
        (ConfigType.DOUBLE, "half", "a number"),
        (ConfigType.DOUBLE, "NaN", "a number"),
    ],
)
def test_bad_value_is_one_line_with_key_value_and_what_is_allowed(
    kind: ConfigType, text: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        key(kind).parse(text)
    assert str(raised.value) == f"Invalid value {text} for configuration the.key: must be {allowed}"


@pytest.mark.parametrize(
    ("kind", "validator", "good", "bad", "allowed"),
    [
        (ConfigType.INT, at_least(14), "14", "13", "an integer of at least 14"),
        (ConfigType.DOUBLE, between(0, 1), "0.5", "1.1", "a number from 0 to 1"),
        (ConfigType.INT, RangeOr(1, 9, -1), "-1", "0", "an integer from 1 to 9, or -1"),
        (ConfigType.STRING, one_of("a", "b"), "a", "A", "one of a, b"),
        (ConfigType.STRING, one_of_any_case("UP", "DOWN"), "up", "left", "one of UP, DOWN"),
        (ConfigType.STRING, NonEmpty(), "a", "", "a string that is not empty"),
        (
            ConfigType.LIST,
            items(("compact", "delete")),
            "delete,compact",
            "delete,delete",
            "a list of compact, delete, none of them empty or twice",
        ),
        (
            ConfigType.LIST,
            items(may_be_empty=False),
            "a",
            "",
            "a list with at least one item, none of them empty or twice",
        ),
        (
            ConfigType.LIST,
            ThrottledReplicas(),
            "0:1,1:2",
            "0-1",
            "* or a list of [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
    ],
)
def test_validator_says_what_is_allowed(
    kind: ConfigType, validator: Validator, good: str, bad: str, allowed: str
) -> None:
    assert key(kind, validator).parse(good) is not None
    with pytest.raises(ConfigError, match=r"the.key") as raised:
        key(kind, validator).parse(bad)
    assert str(raised.value).endswith(f": must be {allowed}")


def test_overflow_names_the_lower_bound_of_the_key() -> None:
    with pytest.raises(ConfigError, match=r"must be an integer from 1 to 2147483647$"):
        key(ConfigType.INT, at_least(1)).parse("99999999999")


def test_error_stays_one_line_whatever_the_value() -> None:
    with pytest.raises(ConfigError) as raised:
        key(ConfigType.INT).parse("1\n2\x00")
    assert str(raised.value) == "Invalid value 1\\n2\\x00 for configuration the.key: must be an integer"


def test_error_does_not_show_a_secret() -> None:
    assert "hunter2" not in str(key(ConfigType.PASSWORD).error("hunter2"))


def test_error_is_kafkas_invalid_config() -> None:
    error = ConfigError("a.key", "x", "an integer")
    assert error_of(error) == (ErrorCode.invalid_config, str(error))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("24*7", "168"),
        ("1014*1024*1024", "1063256064"),
        (" 2 * 3 ", "6"),
        ("7", "7"),
        ("2*x", "2*x"),
        ("*", "*"),
    ],
)
def test_product_is_multiplied_and_anything_else_left_alone(text: str, value: str) -> None:
    assert evaluate_product(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (7, "7"),
        ((), ""),
        (("a", "b"), "a,b"),
        (0.5, "0.5"),
        (0.0, "0.0"),
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (123456789.5, "1.234567895E8"),
        (-2.5e-4, "-2.5E-4"),
        (5e-5, "5.0E-5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
    ],
)
def test_value_prints_as_java_prints_it(value: Value, text: str | None) -> None:
    assert format_value(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_printed_double_reads_back(value: float) -> None:
    assert float(str(format_value(value))) == value
