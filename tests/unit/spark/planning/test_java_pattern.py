import re

import pytest

from barnabas.spark.planning.java_pattern import Untranslatable, python_pattern


@pytest.mark.parametrize(
    ("java", "found", "not_found"),
    [
        ("^orders", "orders.eu", "old-orders"),
        ("orders|payments", "all.payments", "refunds"),
        (r"\Qa.b\E$", "xa.b", "xaxb"),
        (r"\Q.+", "a.+", "a.."),
        (r"^\p{Lower}+-\p{Digit}$", "abc-1", "Abc-1"),
        (r"^[\p{Alpha}_]+$", "Ab_c", "Ab_1"),
        (r"^\P{Upper}+$", "abc.1", "abC"),
        (r"^\p{L}+\pN$", "ab1", "1ab"),
        (r"^(?<word>ab)\k<word>$", "abab", "abac"),
        (r"^(?<!x)ab(?<=b)$", "ab", "a"),
        (r"^[(?<]", "(", "a"),
        (r"\[x\]", "[x]", "x"),
        (r"^a++b$", "aab", "aa"),
        ("(?i)ORDERS", "orders", "order"),
        ("^a(?i)b$", "aB", "AB"),
        ("^a(?i)b|c$", "xC", "Ab"),
        ("^(a(?i)b|c)d$", "Cd", "aBD"),
        ("^(?i)a(?-i)b$", "Ab", "AB"),
        ("^(?iu)a(?<word>(?d-s)b)c$", "ABC", "ABd"),
        ("^[(?i)]+$", "(i)", "I"),
        (r"^\Q(?i)\Ea$", "(?i)a", "(?i)A"),
    ],
)
def test_a_pattern_means_what_java_means(java: str, found: str, not_found: str) -> None:
    pattern = python_pattern(java)
    assert pattern.search(found)
    assert not pattern.search(not_found)


@pytest.mark.parametrize("java", ["[a-z&&[^b]]", "[a[b]]", r"\p{Greek}", r"[\P{Lower}]"])
def test_what_python_cannot_say_is_refused(java: str) -> None:
    with pytest.raises(Untranslatable, match="not supported"):
        python_pattern(java)


@pytest.mark.parametrize("java", ["[", "(", ")", "*", "(?<1>a)", "a)(?i)(b", "(?z)a", "(?i"])
def test_invalid_pattern_is_an_error(java: str) -> None:
    with pytest.raises(re.error):
        python_pattern(java)
