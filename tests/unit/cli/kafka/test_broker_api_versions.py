import pytest

from barnabas.cli.kafka.broker_api_versions import shown_api
from barnabas.client.admin.api_versions import ServedApi
from barnabas.wire.message_codec import Versions


@pytest.mark.parametrize(
    ("api", "text"),
    [
        (ServedApi(1, "Fetch", Versions(4, 18), Versions(4, 17)), "Fetch(1): 4 to 18 [usable: 17]"),
        (ServedApi(47, "OffsetDelete", Versions(0, 0), Versions(0, 0)), "OffsetDelete(47): 0 [usable: 0]"),
        (ServedApi(1, "Fetch", None, Versions(4, 17)), "Fetch(1): UNSUPPORTED"),
        (
            ServedApi(1, "Fetch", Versions(20, 21), Versions(4, 17)),
            "Fetch(1): 20 to 21 [unusable: node too new]",
        ),
        (ServedApi(1, "Fetch", Versions(0, 3), Versions(4, 17)), "Fetch(1): 0 to 3 [unusable: node too old]"),
        (ServedApi(500, None, Versions(0, 3), None), "UNKNOWN(500): 0 to 3"),
        (
            ServedApi(4, "LeaderAndIsr", Versions(0, 7), None),
            "LeaderAndIsr(4): 0 to 7 [unusable: node too new]",
        ),
    ],
)
def test_api_is_shown_as_kafka_shows_it(api: ServedApi, text: str) -> None:
    assert shown_api(api) == text
