"""Who writes topics and configurations: the controller, with a check of its epoch.

`barnabas adopt` writes to a store that no broker uses: `ClusterMetadata` is a writer too.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from barnabas.base.errors import NotController
from barnabas.controller.controller import Controller
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.store import MetadataStore, Operation, OperationResult, SessionExpired


class MetadataWriter(Protocol):
    """Reads and writes the metadata store, and has the image of it. Blocks: for the store's thread."""

    @property
    def image(self) -> ClusterImage: ...

    @property
    def store(self) -> MetadataStore: ...

    def refresh(self, changed: Iterable[str]) -> None:
        """Read these paths again."""

    def transaction(self, operations: Sequence[Operation]) -> list[OperationResult]:
        """Write, all or nothing. The image includes the changes when this returns."""
        ...


class ControllerWriter:
    """Writes for requests, as the controller only. Raises NotController on any other broker."""

    def __init__(self, controller: Controller) -> None:
        self._controller: Controller = controller

    @property
    def image(self) -> ClusterImage:
        return self._controller.image

    @property
    def store(self) -> MetadataStore:
        return self._controller.store

    def refresh(self, changed: Iterable[str]) -> None:
        self._controller.refresh(changed)

    def transaction(self, operations: Sequence[Operation]) -> list[OperationResult]:
        try:
            return self._controller.transaction(operations)
        except SessionExpired as error:
            # Another broker becomes the controller, or this one again in a new session.
            raise NotController(f"The controller has lost its session: {error}") from error
