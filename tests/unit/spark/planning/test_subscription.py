import pytest

from barnabas.spark.planning.option_values import BadOption
from barnabas.spark.planning.subscription import Subscription, Topic, subscription_of

_CLUSTER = [Topic("orders", 2), Topic("order-lines", 1), Topic("__consumer_offsets", 1, is_internal=True)]


def test_topics_by_name() -> None:
    subscription = subscription_of({"subscribe": " orders, ,order-lines,orders"})
    assert subscription.wanted_topics == ("orders", "order-lines")
    assert subscription.partitions(_CLUSTER) == {("orders", 0), ("orders", 1), ("order-lines", 0)}
    assert str(subscription) == "Subscribe[orders, order-lines]"


def test_a_pattern_is_found_anywhere_in_the_name() -> None:
    subscription = subscription_of({"subscribepattern": "ers$"})
    assert subscription.wanted_topics is None
    assert subscription.partitions(_CLUSTER) == {("orders", 0), ("orders", 1)}
    assert str(subscription) == "SubscribePattern[ers$]"


@pytest.mark.parametrize("subscription", [Subscription(pattern=".*"), Subscription(("__consumer_offsets",))])
def test_internal_topics_are_never_read(subscription: Subscription) -> None:
    assert ("__consumer_offsets", 0) not in subscription.partitions(_CLUSTER)


def test_partitions_by_number() -> None:
    subscription = subscription_of({"assign": '{"orders":[1,7],"order-lines":[0]}'})
    assert subscription.wanted_topics == ("order-lines", "orders")
    assert subscription.partitions(_CLUSTER) == {("orders", 1), ("order-lines", 0)}
    assert str(subscription) == "Assign[order-lines-0, orders-1, orders-7]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {},
            "must be specified for Kafka source: subscribe, subscribepattern, assign",
        ),
        ({"subscribe": "a", "assign": "{}"}, "Only one of the following options can be specified"),
        (
            {"subscribe": " , "},
            "No topics to subscribe to as specified value for option 'subscribe' is ' , '",
        ),
        ({"subscribepattern": "  "}, "Pattern to subscribe is empty"),
        ({"subscribepattern": "("}, "is no regular expression"),
        (
            {"assign": "orders"},
            "No topicpartitions to assign as specified value for option 'assign' is 'orders'",
        ),
        ({"assign": "{}"}, "No topicpartitions to assign"),
        ({"assign": '{"orders":0}'}, r'Expected e.g. \{"topicA":\[0,1\],"topicB":\[0,1\]\}, got'),
        ({"assign": '{"orders":["0"]}'}, "Expected e.g."),
    ],
)
def test_what_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        subscription_of(options)
