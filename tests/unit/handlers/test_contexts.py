"""Each handler gets the context that it declares, and no wider one."""

import dataclasses

import pytest
from tests.fakes.node import Node

from barnabas.handlers import contexts
from barnabas.handlers.registry import APIS, handler_of


def test_every_handler_gets_the_context_that_it_declares(node: Node) -> None:
    declared = {api.name: handler_of(api.key).__annotations__["context"] for api in APIS.values()}
    assert declared == {api.name: type(node.contexts.of(api.key)) for api in APIS.values()}


def test_families_name_apis_that_exist_once() -> None:
    named = [name for names in contexts._FAMILIES.values() for name in names]
    assert len(named) == len(set(named))
    assert set(named) <= {api.name for api in APIS.values()}


def test_no_context_can_be_changed(node: Node) -> None:
    for field in dataclasses.fields(node.contexts):
        context = getattr(node.contexts, field.name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            context.settings = None
