"""`barnabas adopt`: registers the topics of an existing log directory in the metadata store."""

from collections.abc import Sequence
from pathlib import Path

from barnabas.base.light_kio import import_kio_lightly


def adopt(log_dir: Path, properties: Path | None, overrides: Sequence[str]) -> int:
    import_kio_lightly()
    from barnabas import broker
    from barnabas.base.errors import KafkaError
    from barnabas.cli.log_format import log_to_stderr
    from barnabas.cli.settings import DEFAULTS, SettingsError, complain, load_settings

    if not log_dir.is_dir():
        complain(f"{log_dir}: no such directory")
        return 1
    try:
        config = load_settings(properties, overrides, {**DEFAULTS, "log.dirs": str(log_dir)})
    except SettingsError as error:
        complain(str(error))
        return 1
    if log_dir.resolve() not in {directory.resolve() for directory in config.log_dirs}:
        listed = ", ".join(str(directory) for directory in config.log_dirs)
        complain(f"{log_dir} is not one of log.dirs in {properties} ({listed}); add it there first")
        return 1

    log_to_stderr(quiet=True)
    try:
        adopted = broker.adopt(config, log_dir)
    except (OSError, KafkaError) as error:
        complain(f"cannot adopt {log_dir}: {error}")
        return 1
    for topic, partitions in sorted(adopted.items()):
        print(f"{topic}: {partitions} partition{'' if partitions == 1 else 's'}")
    print(f"Adopted {len(adopted)} topic{'' if len(adopted) == 1 else 's'} from {log_dir}.")
    return 0
