from barnabas.cli.kafka.java_order import in_java_order, string_hash


def test_hash_is_that_of_javas_strings() -> None:
    # from `"...".hashCode()` in Java
    assert string_hash("") == 0
    assert string_hash("a") == 97
    assert string_hash("Hello") == 69609650
    assert string_hash("polygenelubricants") == 1 << 31


def test_keys_come_in_the_order_of_their_buckets() -> None:
    # what `new HashMap<>(...).keySet()` prints in Java
    assert in_java_order(["banana", "apple", "cherry"], str) == ["banana", "apple", "cherry"]
    assert in_java_order(["retention.ms", "cleanup.policy"], str) == in_java_order(
        ["cleanup.policy", "retention.ms"], str
    )


def test_table_grows_with_its_keys() -> None:
    letters = [chr(97 + number) for number in range(26)]
    # 97 % 64 .. : a table of 64 keeps the alphabet in order
    assert in_java_order(reversed(letters), str) == letters
    # 12 fit into 16 buckets, where "p" (112) is the first
    assert in_java_order("abcdefghijkp", str)[0] == "p"
    assert in_java_order("abcdefghijklp", str)[0] == "a"
