"""`barnabas cluster up` and others: a cluster on this machine. The work is in `cli.local_cluster`."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barnabas.cli.front import json_option
from barnabas.cli.view import View

if TYPE_CHECKING:
    from barnabas.cli.local_cluster.layout import Layout
    from barnabas.cli.local_cluster.process import BrokerProcess

DEFAULT_DIRECTORY = Path("data/cluster")
_DIRECTORY = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_DIRECTORY,
    show_default=True,
    help="The directory of the cluster.",
)
_BROKER = click.argument("broker", type=click.IntRange(0), metavar="N")


@click.command()
@click.option("--brokers", type=click.IntRange(1, 100), help="How many brokers; 3 for a new cluster.")
@click.option("--racks", default="", metavar="A,B,C", help="broker.rack of each broker.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port of the first broker; 9092 by default.")
@click.option("--detach", is_flag=True, help="Return when the brokers are ready; they outlive the terminal.")
@_DIRECTORY
def up(brokers: int | None, racks: str, port: int | None, detach: bool, directory: Path) -> int:
    """Create a cluster on this machine, or start the one that the directory holds.

    The brokers run until Ctrl-C; with --detach until `barnabas cluster down`. A new cluster gets a
    properties file for each broker, which you may edit.
    """
    from barnabas.cli.local_cluster.running import Up

    return Up(directory, brokers, [each for each in racks.split(",") if each], port).run(is_detached=detach)


@click.command()
@_DIRECTORY
@json_option
def status(directory: Path, as_json: bool) -> int:
    """Show the brokers of a local cluster, and leader, replicas and ISR of each partition.

    The exit status is 1 if a broker does not run.
    """
    from barnabas.cli.local_cluster.process import RUNNING
    from barnabas.cli.local_cluster.state import read_state

    state, view = read_state(_layout(directory)), View(as_json=as_json)
    brokers, partitions = state.brokers(), state.partitions()
    if as_json:
        view.value({"brokers": brokers.values(), "partitions": partitions.values()})
    else:
        view.table(brokers)
        if partitions.rows:
            print()
            view.table(partitions)
    return 0 if all(each == RUNNING for _, each, _ in state.members) else 1


@click.command()
@_DIRECTORY
def down(directory: Path) -> None:
    """Stop all brokers of a local cluster cleanly. Their data stays."""
    from barnabas.cli.local_cluster.running import stop_all

    stopped = stop_all(_layout(directory))
    View().done(f"Stopped {stopped} brokers." if stopped else "No broker was running.")


def _on_broker(command: Callable[["BrokerProcess", View], None]) -> Callable[..., None]:
    """A command on one broker."""

    @_BROKER
    @_DIRECTORY
    @functools.wraps(command)
    def wrapped(broker: int, directory: Path, **options: Any) -> None:
        from barnabas.cli.local_cluster.process import BrokerProcess

        command(BrokerProcess(_layout(directory).member(broker)), View(), **options)

    return wrapped


@click.command()
@_on_broker
def kill(process: "BrokerProcess", view: View) -> None:
    """End a broker with SIGKILL: no clean stop, as in a crash."""
    import signal

    _send(process, signal.SIGKILL)
    process.wait_until_stopped()
    view.done(f"Killed broker {process.member.id}.")


@click.command()
@_on_broker
def pause(process: "BrokerProcess", view: View) -> None:
    """Stop a broker with SIGSTOP: it keeps its connections, answers nothing, and loses its session."""
    import signal

    _send(process, signal.SIGSTOP)
    view.done(f"Paused broker {process.member.id}.")


@click.command()
@_on_broker
def resume(process: "BrokerProcess", view: View) -> None:
    """Let a paused broker go on."""
    import signal

    _send(process, signal.SIGCONT)
    view.done(f"Resumed broker {process.member.id}.")


@click.command()
@_on_broker
def restart(process: "BrokerProcess", view: View) -> None:
    """Stop a broker cleanly, if it runs, and start it again in the background."""
    process.stop()
    process.wait_until_stopped()
    process.spawn(is_detached=True).wait()
    view.done(f"Restarted broker {process.member.id} (pid {process.pid()}).")


@click.command()
@_on_broker
def drain(process: "BrokerProcess", view: View) -> None:
    """Move the replicas and leaderships of a broker to other brokers, and stop it.

    A replica stays assigned to the broker if every other broker has one of its partition. Another replica
    takes its leadership then (controlled shutdown).
    """
    from barnabas.cli.local_cluster.draining import drain as move_replicas
    from barnabas.cli.local_cluster.process import RUNNING

    if process.state() != RUNNING:
        raise _not_running(process)
    drained = move_replicas(process.member.address, process.member.id)
    process.stop()
    process.wait_until_stopped()
    text = f"Moved {drained.moved} replicas of broker {process.member.id} to other brokers and stopped it."
    if drained.stayed:
        text += f" {drained.stayed} stay assigned to it: every other broker has one of their partitions."
    view.done(text)


@click.command()
@click.option("--rack", help="broker.rack of the new broker.")
@_DIRECTORY
def add(rack: str | None, directory: Path) -> None:
    """Add a broker to a local cluster and start it in the background, with the next id and the next port."""
    from barnabas.cli.local_cluster.process import BrokerProcess

    layout = _layout(directory)
    with layout.locked():
        process = BrokerProcess(layout.add(rack))
        process.spawn(is_detached=True).wait()
    View().done(f"Broker {process.member.id} listens on {process.member.address}.")


COMMANDS = (up, down, status, kill, pause, resume, restart, drain, add)


def _layout(directory: Path) -> "Layout":
    from barnabas.cli.local_cluster.layout import Layout

    return Layout(directory)


def _send(process: "BrokerProcess", number: Any) -> None:
    if not process.signal(number):
        raise _not_running(process)


def _not_running(process: "BrokerProcess") -> Exception:
    from barnabas.cli.tool_errors import ToolError

    return ToolError(f"broker {process.member.id} does not run: start it with `barnabas cluster restart`")
