"""`kafka-reassign-partitions`: move replicas between brokers and between their log directories.

All output goes to stdout, errors included. Kafka's "terse" errors are printed as they are, others after
`Error: `.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.java_order import in_java_order
from barnabas.cli.kafka.options import Given
from barnabas.cli.kafka.reassign_options import action_of, reassign_options
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.admin.leaders import TopicPartition
    from barnabas.client.admin.reassignment_plan import Plan
    from barnabas.client.admin.reassignments import Reassignment, ReassignmentState
    from barnabas.client.admin.replica_log_dirs import MoveState, Replica
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import BrokerError

_RUN_VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle "
    "is removed."
)


class _Terse(Exception):
    """An error that is printed without a prefix."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = reassign_options()

    def work(given: Given) -> int:
        action = action_of(options, given)
        return _run(action, given)

    return run_tool(options, work, arguments, prefix="Error: ", errors_on_stdout=True)


def _run(action: str, given: Given) -> int:
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.admin.reassignment_steps import ReassignmentInProgress
    from barnabas.client.admin.replica_log_dirs import MoveTimeout
    from barnabas.client.errors import BrokerError

    if given.has("bootstrap-controller"):
        raise ToolError(
            "--bootstrap-controller is not supported: every broker takes these requests, "
            "use --bootstrap-server"
        )
    bootstrap = given.bootstrap_server
    if given.has("zookeeper"):
        from barnabas.cli.kafka.zookeeper_bootstrap import bootstrap_of

        bootstrap = bootstrap_of(given.zookeeper)
    try:
        with open_cluster(bootstrap, given.command_config) as cluster:
            _ACTIONS[action](cluster, given)
    except (_Terse, ReassignmentInProgress, MoveTimeout) as error:
        print(error)
        return 1
    except BrokerError as error:
        raise ToolError(exception_text(error)) from error
    return 0


# --- actions -----------------------------------------------------------------------------------------


def _generate(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.reassignment_plan import (
        BadPlan,
        duplicates,
        format_plan,
        generate,
        parse_brokers,
        read_topics,
        usable_brokers,
    )
    from barnabas.client.admin.reassignment_steps import assignment_json
    from barnabas.client.admin.reassignments import replicas_of

    brokers = parse_brokers(given.broker_list)
    topics = read_topics(given.topics_to_move_json_file)
    twice = duplicates(topics)
    if twice:
        raise BadPlan(f"List of topics to reassign contains duplicate entries: [{', '.join(twice)}]")
    current = replicas_of(cluster, topics)
    rollback = assignment_json(cluster, current)
    usable = usable_brokers(cluster.nodes, brokers, with_racks=not given.disable_rack_aware)
    proposed = generate(current, usable)
    print(f"Current partition replica assignment\n{rollback}\n")
    print(f"Proposed partition reassignment configuration\n{format_plan(proposed)}")


def _execute(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.reassignment_plan import read_plan
    from barnabas.client.admin.reassignment_steps import assignment_json, prepare, throttle
    from barnabas.client.admin.reassignments import alter_reassignments
    from barnabas.client.admin.throttles import throttle_log_dirs

    plan = read_plan(given.reassignment_json_file)
    prepared = prepare(cluster, plan, is_additional=given.additional)
    print(
        f"Current partition replica assignment\n\n{assignment_json(cluster, prepared.current)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    between_brokers, between_dirs = given.throttle, given.replica_alter_log_dirs_throttle
    if between_brokers >= 0 or between_dirs >= 0:
        print(_RUN_VERIFY)
    if between_brokers >= 0:
        throttle(cluster, prepared, between_brokers)
        print(f"The inter-broker throttle limit was set to {between_brokers} B/s")
    if between_dirs >= 0:
        throttle_log_dirs(cluster, {replica.broker for replica in plan.log_dirs}, between_dirs)
        print(f"The replica-alter-dir throttle limit was set to {between_dirs} B/s")
    errors = alter_reassignments(
        cluster,
        plan.replicas,
        allow_replication_factor_change=not given.disallow_replication_factor_change,
    )
    if errors:
        raise _Terse(f"Error reassigning partition(s):\n{_error_lines(errors)}")
    print(f"Successfully started partition reassignment{_s(plan.replicas)} for {_names(plan.replicas)}")
    _start_moves(cluster, plan.log_dirs, given.timeout)


def _verify(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.reassignment_plan import read_plan
    from barnabas.client.admin.reassignments import reassignment_states
    from barnabas.client.admin.replica_log_dirs import move_states

    plan = read_plan(given.reassignment_json_file)
    states, is_ongoing = reassignment_states(cluster, plan.replicas)
    print("\n".join(state_lines(states)))
    moves = move_states(cluster, plan.log_dirs)
    print("\n".join(move_lines(moves)))
    is_moving = not all(state.is_done for state in moves.values())
    if not is_ongoing and not is_moving and not given.preserve_throttles:
        _clear_throttles(cluster, plan)


def _cancel(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.reassignment_plan import read_plan
    from barnabas.client.admin.reassignment_steps import active_partitions, cancel, moves_back

    plan = read_plan(given.reassignment_json_file)
    active = active_partitions(cluster, plan.replicas)
    if active:
        errors = cancel(cluster, active)
        if errors:
            raise _Terse(f"Error cancelling partition reassignment{_s(errors)} for:\n{_error_lines(errors)}")
        print(f"Successfully cancelled partition reassignment{_s(active)} for: {_names(active)}")
    else:
        print("None of the specified partition reassignments are active.")
    moves = moves_back(cluster, plan)
    if moves:
        _start_moves(cluster, moves, given.timeout)
    else:
        print("None of the specified partition moves are active.", end="")  # as Kafka: no end of line
    if not given.preserve_throttles:
        _clear_throttles(cluster, plan)


def _list(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.reassignments import list_reassignments

    found = list_reassignments(cluster)
    if not found:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    print(
        "\n".join(ongoing_line(topic_partition, found[topic_partition]) for topic_partition in sorted(found))
    )


_ACTIONS: dict[str, Callable[["Cluster", Given], None]] = {
    "generate": _generate,
    "execute": _execute,
    "verify": _verify,
    "cancel": _cancel,
    "list": _list,
}


def _start_moves(cluster: "Cluster", moves: "Mapping[Replica, str]", timeout_ms: int) -> None:
    from barnabas.client.admin.replica_log_dirs import start_moves

    for replica in start_moves(cluster, moves, timeout=timeout_ms / 1000):
        print(
            f"Successfully started moving log directory to {moves[replica]} for replica "
            f"{replica.topic}-{replica.partition} with broker {replica.broker} "
        )


def _clear_throttles(cluster: "Cluster", plan: "Plan") -> None:
    from barnabas.client.admin.reassignment_steps import throttled_brokers
    from barnabas.client.admin.throttles import clear_broker_throttles, clear_topic_throttles

    brokers = throttled_brokers(cluster, plan)
    print(f"Clearing broker-level throttles on broker{_s(brokers)} {','.join(map(str, brokers))}")
    clear_broker_throttles(cluster, brokers)
    topics = in_java_order(plan.topics, str)
    print(f"Clearing topic-level throttles on topic{_s(topics)} {','.join(topics)}")
    clear_topic_throttles(cluster, topics)


# --- text --------------------------------------------------------------------------------------------


def state_lines(states: "Mapping[TopicPartition, ReassignmentState]") -> list[str]:
    lines = ["Status of partition reassignment:"]
    for topic_partition in sorted(states):
        state, name = states[topic_partition], f"{topic_partition[0]}-{topic_partition[1]}"
        if not state.is_done:
            lines.append(f"Reassignment of partition {name} is still in progress.")
        elif state.is_reached:
            lines.append(f"Reassignment of partition {name} is completed.")
        else:
            lines.append(
                f"There is no active reassignment of partition {name}, but replica set is "
                f"{','.join(map(str, state.current))} rather than {','.join(map(str, state.target))}."
            )
    return lines


def move_lines(states: "Mapping[Replica, MoveState]") -> list[str]:
    from barnabas.client.admin.replica_log_dirs import by_broker_first

    return [_move_line(replica, states[replica]) for replica in sorted(states, key=by_broker_first)]


def _move_line(replica: "Replica", state: "MoveState") -> str:
    from barnabas.client.admin.replica_log_dirs import MoveKind

    partition = f"Partition {replica.topic}-{replica.partition}"
    if state.kind is MoveKind.MISSING_LOG_DIR:
        return (
            f"{partition} is not found in any live log dir on broker {replica.broker}. "
            "There is likely an offline log directory on the broker."
        )
    if state.kind is MoveKind.COMPLETED:
        return f"Reassignment of replica {replica} completed successfully."
    if state.kind is MoveKind.CANCELLED:
        return (
            f"{partition} on broker {replica.broker} is not being moved from log dir {state.current} "
            f"to {state.target}."
        )
    if state.future == state.target:
        return f"Reassignment of replica {replica} is still in progress."
    return (
        f"{partition} on broker {replica.broker} is being moved to log dir {state.future} "
        f"instead of {state.target}."
    )


def ongoing_line(topic_partition: "TopicPartition", each: "Reassignment") -> str:
    line = f"{topic_partition[0]}-{topic_partition[1]}: replicas: {','.join(map(str, each.replicas))}."
    if each.adding:
        line += f" adding: {','.join(map(str, each.adding))}."
    if each.removing:
        line += f" removing: {','.join(map(str, each.removing))}."
    return line


def _error_lines(errors: "Mapping[TopicPartition, BrokerError]") -> str:
    return "\n".join(f"{topic}-{index}: {errors[topic, index]}" for topic, index in sorted(errors))


def _names(topic_partitions: "Iterable[TopicPartition]") -> str:
    return ",".join(f"{topic}-{index}" for topic, index in sorted(topic_partitions))


def _s(things: Sequence[object] | Mapping["TopicPartition", object]) -> str:
    return "" if len(things) == 1 else "s"
