"""Opens the cluster that `--bootstrap-server` and `--command-config` of a tool name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster


def open_cluster(bootstrap: str | None, command_config: str | None = None) -> "Cluster":
    """Does not connect yet. Raises BadSettings."""
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings, read_properties

    properties = read_properties(command_config) if command_config else {}
    return Cluster(ClientSettings.of(bootstrap, properties))
