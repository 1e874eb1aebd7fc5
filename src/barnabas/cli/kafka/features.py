"""`kafka-features`: describes, upgrades, downgrades and disables the features of a cluster.

`version-mapping` and `feature-dependencies` send no request: they print tables of Kafka 4.3
(`feature_levels`).
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.options import Given, Options, UsageError, integer
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import ClientError

_SMALLEST, _LARGEST = -(2**15), 2**15 - 1
"""A level is a short."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options()
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        given = options.parse(words)
        if words and not given.has("help") and not given.has("version"):
            _check(given)
    except UsageError as error:
        print(f"Command line error: {error}. Type --help for help.", file=sys.stderr)
        return 1
    return run_tool(options, _work, words)


def _options() -> Options:
    options = Options(
        "kafka-features",
        "Usage: kafka-features --bootstrap-server HOST:PORT COMMAND OPTIONS\n\n"
        "Commands: describe, upgrade, downgrade, disable, version-mapping, feature-dependencies",
    )
    options.option("bootstrap-server", "Bootstrap brokers, separated by commas.", value="host:port")
    options.option("bootstrap-controller", "The same for KRaft controllers.", value="host:port")
    options.option("command-config", "Properties of the client.", value="file")
    options.option(
        "node-id", "describe: the node that answers; any node by default.", value="id", kind=integer
    )
    options.option("metadata", "upgrade, downgrade: old name of --release-version.", value="release")
    options.option(
        "release-version",
        "upgrade, downgrade, version-mapping: set (or show) all features as of a release, 4.3-IV0 for "
        "example.",
        value="release",
    )
    options.option(
        "feature",
        "A feature and its level, as in metadata.version=5 (disable: its name alone). May be repeated.",
        value="feature=level",
        repeated=True,
    )
    options.flag("unsafe", "downgrade, disable: also if metadata may be lost for good.")
    options.flag("dry-run", "upgrade, downgrade, disable: only validate the update.")
    return options


def _check(given: Given) -> None:
    if not given.words:
        raise UsageError("too few arguments")
    command, *rest = given.words
    if command not in _COMMANDS:
        choices = ", ".join(f"'{name}'" for name in _COMMANDS)
        raise UsageError(f"invalid choice: '{command}' (choose from {choices})")
    foreign = [f"--{name}" for name in _OWN_OPTIONS if given.has(name) and name not in _COMMANDS[command][1]]
    if rest or foreign:
        raise UsageError(f"unrecognized arguments: '{(rest + foreign)[0]}'")
    if command == "feature-dependencies" and not given.feature:
        raise UsageError("argument --feature is required")
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        raise UsageError("argument --bootstrap-controller: not allowed with argument --bootstrap-server")
    is_local = command in ("version-mapping", "feature-dependencies")
    if not is_local and not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        raise UsageError("You must specify either --bootstrap-controller or --bootstrap-server.")


def _work(given: Given) -> int:
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.admin.feature_levels import UnknownLevel
    from barnabas.client.errors import BrokerError

    try:
        _COMMANDS[given.words[0]][0](given)
    except UnknownLevel as error:
        raise ToolError(str(error)) from None
    except BrokerError as error:
        raise ToolError(exception_text(error)) from None
    return 0


def _open(given: Given) -> "Cluster":
    return open_cluster(given.bootstrap_server or given.bootstrap_controller, given.command_config)


# --- commands ----------------------------------------------------------------------------------------


def _describe(given: Given) -> None:
    from barnabas.client.admin.feature_levels import shown_level
    from barnabas.client.admin.features import describe_features

    if given.node_id is not None and given.node_id < 0:
        raise ToolError(f"Invalid node id {given.node_id}: must be non-negative.")
    with _open(given) as cluster:
        found = describe_features(cluster, given.node_id)
    epoch = "-" if found.epoch is None else found.epoch
    for each in found.features:
        lowest, highest, finalized = (
            shown_level(each.name, level) for level in (each.lowest, each.highest, each.finalized)
        )
        print(
            f"Feature: {each.name:<40}  SupportedMinVersion: {lowest:<15}  "
            f"SupportedMaxVersion: {highest:<15}  FinalizedVersionLevel: {finalized:<15}  Epoch: {epoch}"
        )


def _upgrade(given: Given) -> None:
    from barnabas.client.admin.features import UPGRADE

    _update(given, "upgrade", _levels(given, is_upgrade=True), UPGRADE)


def _downgrade(given: Given) -> None:
    _update(given, "downgrade", _levels(given, is_upgrade=False), _downgrade_kind(given))


def _disable(given: Given) -> None:
    levels: dict[str, int] = {}
    for name in given.feature:
        _add(levels, name, 0)
    _update(given, "disable", levels, _downgrade_kind(given))


def _downgrade_kind(given: Given) -> int:
    from barnabas.client.admin.features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE

    return UNSAFE_DOWNGRADE if given.unsafe else SAFE_DOWNGRADE


def _levels(given: Given, *, is_upgrade: bool) -> dict[str, int]:
    """The target level of each feature."""
    from barnabas.client.admin.feature_levels import FEATURES, METADATA_VERSION, level_of

    if given.release_version is not None:
        if given.metadata is not None or given.feature:
            raise ToolError("Can not specify `release-version` with other feature flags.")
        level = level_of(given.release_version)
        defaults = {each.name: each.default_level(level) for each in FEATURES}
        # Level 0 means that the feature is disabled: an upgrade skips it.
        kept = {name: default for name, default in defaults.items() if default > 0 or not is_upgrade}
        return {METADATA_VERSION: level, **kept}
    levels: dict[str, int] = {}
    if given.metadata is not None:
        print(" `metadata` flag is deprecated and may be removed in a future release.")
        levels[METADATA_VERSION] = level_of(given.metadata)
    for text in given.feature:
        _add(levels, *parse_level(text))
    return levels


def _add(levels: dict[str, int], name: str, level: int) -> None:
    if name in levels:
        raise ToolError(f"Feature {name} was specified more than once.")
    levels[name] = level


def parse_level(text: str) -> tuple[str, int]:
    """`metadata.version=5`. Raises ToolError."""
    name, sign, level = text.partition("=")
    if not sign:
        raise ToolError(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = int(level)
    except ValueError:
        number = _LARGEST + 1
    if not _SMALLEST <= number <= _LARGEST:
        raise ToolError(
            f"Can't parse feature=level string {text}: unable to parse {level.strip()} as a short."
        )
    return name.strip(), number


def _update(given: Given, action: str, levels: Mapping[str, int], kind: int) -> None:
    if not levels:
        raise ToolError(f"You must specify at least one feature to {action}")
    from barnabas.client.admin.cluster import active_controller
    from barnabas.client.admin.features import update_features
    from barnabas.client.errors import Unsupported

    errors: Mapping[str, ClientError | None]
    with _open(given) as cluster:
        try:
            if given.has("bootstrap-controller"):
                with active_controller(cluster) as controller:
                    errors = update_features(controller, levels, kind, validate_only=given.dry_run)
            else:
                to = cluster.controller_id
                errors = update_features(cluster, levels, kind, validate_only=given.dry_run, to=to)
        except Unsupported as error:
            errors = dict.fromkeys(levels, error)
    _print_outcome(given, action, levels, errors)


def _print_outcome(
    given: Given, action: str, levels: Mapping[str, int], errors: "Mapping[str, ClientError | None]"
) -> None:
    for name, error in sorted(errors.items()):
        target = name if action == "disable" else f"{name} to {levels[name]}"
        done = "disabled" if action == "disable" else f"{action}d to {levels[name]}"
        if error is None:
            print(f"{name} {'can be' if given.dry_run else 'was'} {done}.")
        else:
            print(f"{'Can' if given.dry_run else 'Could'} not {action} {target}. {error}")
    failed = sum(error is not None for error in errors.values())
    if failed:
        raise ToolError(f"{failed} out of {len(levels)} operation(s) failed.")


def _version_mapping(given: Given) -> None:
    from barnabas.client.admin.feature_levels import FEATURES, LATEST_RELEASE, METADATA_VERSION, level_of

    release = LATEST_RELEASE if given.release_version is None else given.release_version
    level = level_of(release)
    print(f"{METADATA_VERSION}={level} ({release})")
    for each in FEATURES:
        print(f"{each.name}={each.default_level(level)}")


def _feature_dependencies(given: Given) -> None:
    from barnabas.client.admin.feature_levels import METADATA_VERSION, feature_named, release_of

    for name, level in map(parse_level, given.feature):
        if name == METADATA_VERSION:
            print(f"{name}={level} ({release_of(level)}) has no dependencies.")
            continue
        needed = feature_named(name).dependencies(level)
        if not needed:
            print(f"{name}={level} has no dependencies.")
            continue
        print(f"{name}={level} requires:")
        for other, other_level in needed.items():
            release = f" ({release_of(other_level)})" if other == METADATA_VERSION else ""
            print(f"    {other}={other_level}{release}")


_COMMANDS: dict[str, tuple[Callable[[Given], None], frozenset[str]]] = {
    "describe": (_describe, frozenset({"node-id"})),
    "upgrade": (_upgrade, frozenset({"metadata", "release-version", "feature", "dry-run"})),
    "downgrade": (_downgrade, frozenset({"metadata", "release-version", "feature", "unsafe", "dry-run"})),
    "disable": (_disable, frozenset({"feature", "unsafe", "dry-run"})),
    "version-mapping": (_version_mapping, frozenset({"release-version"})),
    "feature-dependencies": (_feature_dependencies, frozenset({"feature"})),
}
"""Command to its function and its own options."""
_OWN_OPTIONS = ("node-id", "metadata", "release-version", "feature", "unsafe", "dry-run")
