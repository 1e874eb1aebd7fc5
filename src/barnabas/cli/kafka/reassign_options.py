"""The flags of `kafka-reassign-partitions`, and which of them go together."""

from barnabas.cli.kafka.options import Given, Options, UsageError

ACTIONS = ("generate", "execute", "verify", "cancel", "list")

_REQUIRED = {
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_PERMITTED = {
    "generate": ("disable-rack-aware",),
    "execute": (
        "additional",
        "throttle",
        "replica-alter-log-dirs-throttle",
        "timeout",
        "disallow-replication-factor-change",
    ),
    "verify": ("preserve-throttles",),
    "cancel": ("bootstrap-controller", "preserve-throttles", "timeout"),
    "list": ("bootstrap-controller",),
}
_ALL = sorted({name for names in (*_REQUIRED.values(), *_PERMITTED.values()) for name in names})


def reassign_options() -> Options:
    options = Options(
        "kafka-reassign-partitions", "Move partitions between brokers and between their log directories."
    )
    options.flag("generate", "Propose a new assignment of topics to brokers; nothing is moved.")
    options.flag("execute", "Start the reassignments of --reassignment-json-file.")
    options.flag(
        "verify", "Print the progress of these reassignments; when all are complete, remove the throttles."
    )
    options.flag("cancel", "Cancel these reassignments.")
    options.flag("list", "List all partitions that are being moved.")
    _add_inputs(options)
    _add_limits(options)
    return options


def _add_inputs(options: Options) -> None:
    options.option("bootstrap-server", "Bootstrap brokers, separated by commas.", value="host:port")
    options.option("bootstrap-controller", "Not supported: brokers take these requests.", value="host:port")
    options.option(
        "zookeeper", "The ZooKeeper address of Kafka 2.x tools, if a ZooKeeper runs there.", value="host:port"
    )
    options.option("command-config", "File with properties of the client.", value="file")
    options.option(
        "reassignment-json-file",
        'The moves: {"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3],'
        '"log_dirs":["any","any","/disk2"]}]}. log_dirs may be left out.',
        value="file",
    )
    options.option(
        "topics-to-move-json-file",
        'Topics to propose an assignment for: {"version":1,"topics":[{"topic":"foo"}]}.',
        value="file",
    )
    options.option("broker-list", "Brokers that the topics shall be on, as in 0,1,2.", value="ids")
    options.flag("disable-rack-aware", "Do not look at the racks of brokers.")


def _add_limits(options: Options) -> None:
    options.option(
        "throttle",
        "Most bytes per second between brokers; -1 for no limit.",
        value="Long",
        kind=int,
        default=-1,
    )
    options.option(
        "replica-alter-log-dirs-throttle",
        "Most bytes per second between directories of a broker; -1 for no limit.",
        value="Long",
        kind=int,
        default=-1,
    )
    options.option(
        "timeout",
        "How long (ms) to wait until moves between directories have begun.",
        value="Long",
        kind=int,
        default=10000,
    )
    options.flag("additional", "Start even if other reassignments are active; also changes their throttle.")
    options.flag("preserve-throttles", "Leave throttles as they are.")
    options.flag("disallow-replication-factor-change", "Refuse moves that change the number of replicas.")


def action_of(options: Options, given: Given) -> str:
    """Raises UsageError if the flags cannot be combined."""
    chosen = [action for action in ACTIONS if given.has(action)]
    if len(chosen) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageError(f"Command must include exactly one action: {listed}")
    (action,) = chosen
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        raise UsageError("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not any(given.has(name) for name in ("bootstrap-server", "bootstrap-controller", "zookeeper")):
        raise UsageError("Please specify either --bootstrap-server or --bootstrap-controller")
    options.require(given, *_REQUIRED[action])
    for name in _ALL:
        if given.has(name) and name not in (*_REQUIRED[action], *_PERMITTED[action]):
            raise UsageError(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    return action
