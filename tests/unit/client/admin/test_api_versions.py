from barnabas.client.admin.api_versions import _NAMES, ServedApi, served_apis
from barnabas.wire.message_codec import Versions, api_key, known_versions


def _by_key(served: dict[int, Versions]) -> dict[int, ServedApi]:
    return {api.key: api for api in served_apis(served)}


def test_names_are_in_the_order_of_keys() -> None:
    for name in ("Produce", "ApiVersions", "OffsetDelete", "ListConfigResources", "DeleteShareGroupOffsets"):
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
        assert _NAMES.index(name) == api_key(snake)


def test_usable_is_the_newest_version_that_both_know() -> None:
    apis = _by_key({1: Versions(4, 12), 2: Versions(1, 99), 3: Versions(50, 60), 23: Versions(0, 1)})
    assert apis[1].usable == 12
    assert apis[2].usable == known_versions("list_offsets").highest
    assert (apis[3].usable, apis[3].is_too_new, apis[3].is_too_old) == (None, True, False)
    assert (apis[23].usable, apis[23].is_too_new, apis[23].is_too_old) == (None, False, True)


def test_apis_that_clients_use_are_listed_even_if_not_served() -> None:
    apis = _by_key({})
    assert apis[0].served is None
    assert apis[0].usable is None
    assert apis.keys().isdisjoint({4, 5, 6, 7, 52, 62})  # of brokers and controllers among themselves


def test_api_that_is_newer_than_this_client_has_no_name() -> None:
    new = _by_key({500: Versions(0, 3)})[500]
    assert (new.name, new.usable, new.is_too_new) == (None, None, False)


def test_api_that_kafka_gave_up_is_named_and_unusable() -> None:
    old = _by_key({4: Versions(0, 7)})[4]
    assert old.name == "LeaderAndIsr"
    assert old.usable is None
