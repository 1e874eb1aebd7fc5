import pytest

from barnabas.cli.kafka.configuration.describing import java_double


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (1024.0, "1024.0"),
        (0.5, "0.5"),
        (-2.25, "-2.25"),
        (9999999.0, "9999999.0"),
        (10000000.0, "1.0E7"),
        (20480000.0, "2.048E7"),
        (123456789.0, "1.23456789E8"),
        (1e10, "1.0E10"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (9.223372036854776e18, "9.223372036854776E18"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert java_double(value) == text
