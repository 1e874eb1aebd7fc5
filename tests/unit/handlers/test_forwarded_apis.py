from types import SimpleNamespace as Fields
from uuid import UUID

from barnabas.handlers.forwarded_apis import FORWARDED
from barnabas.handlers.registry import APIS, FOR_CONTROLLER
from barnabas.metadata.image import ClusterImage, TopicImage

CREATE_TOPICS, DELETE_TOPICS, INCREMENTAL_ALTER_CONFIGS = 19, 20, 44
ID = UUID(int=7)


def test_every_api_for_the_controller_can_be_forwarded() -> None:
    assert FORWARDED.keys() == FOR_CONTROLLER
    assert all(key in APIS and not APIS[key].is_between_brokers for key in FORWARDED)


def test_names_that_no_topic_has_are_not_read_from_the_store() -> None:
    names = ["good", "", "a/b", "..", "x" * 300]
    body = Fields(topics=[Fields(name=name) for name in names])
    changed = FORWARDED[CREATE_TOPICS].changed(body, ClusterImage())
    assert list(changed) == ["/brokers/topics/good", "/config/topics/good"]


def test_topics_that_are_deleted_by_id_are_read_by_name() -> None:
    image = ClusterImage(topic_by_id={ID: TopicImage("t", ID, {})})
    body = Fields(topics=[Fields(name=None, topic_id=ID), Fields(name=None, topic_id=UUID(int=8))])
    changed = FORWARDED[DELETE_TOPICS].changed(body, image)
    assert list(changed) == ["/brokers/topics/t", "/config/topics/t"]


def test_configurations_of_all_kinds_are_read() -> None:
    resources = [
        (2, "t"),
        (2, "no/topic"),
        (4, ""),
        (4, "3"),
        (4, "../3"),
        (32, "a/group"),
        (32, ""),
        (99, "x"),
    ]
    body = Fields(resources=[Fields(resource_type=kind, resource_name=name) for kind, name in resources])
    assert list(FORWARDED[INCREMENTAL_ALTER_CONFIGS].changed(body, ClusterImage())) == [
        "/config/topics/t",
        "/config/brokers/<default>",
        "/config/brokers/3",
        "/config/groups/a%2Fgroup",
    ]
