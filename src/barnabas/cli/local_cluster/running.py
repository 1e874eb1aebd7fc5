"""Starts all brokers of a local cluster, shows them until a signal, and stops them."""

import signal
import time
from collections.abc import Sequence
from pathlib import Path

from barnabas.cli.installed_program import command_of, python_command
from barnabas.cli.local_cluster.layout import Layout, Member
from barnabas.cli.local_cluster.process import STOPPED, BrokerProcess, reap
from barnabas.cli.local_cluster.state import read_state
from barnabas.cli.messages.interruption import Interrupted, raised
from barnabas.cli.tool_errors import ToolError
from barnabas.cli.view import Table, View

_FRAME_SECONDS = 1.0
_BROKERS = 3
_PORT = 9092


class Up:
    def __init__(self, directory: Path, brokers: int | None, racks: Sequence[str], port: int | None) -> None:
        self._layout: Layout = Layout(directory)
        self._brokers: int | None = brokers
        self._racks: Sequence[str] = racks
        self._port: int | None = port

    def run(self, *, is_detached: bool) -> int:
        """Returns the exit status: 0 also after Ctrl-C."""
        # A closed terminal ends this command as Ctrl-C does.
        before = signal.signal(signal.SIGHUP, _interrupt)
        try:
            return self._run(is_detached)
        finally:
            signal.signal(signal.SIGHUP, before)

    def _run(self, is_detached: bool) -> int:
        begin = time.monotonic()
        try:
            with raised():
                members = self._start(is_detached)
            print(banner(self._layout.directory, members, time.monotonic() - begin, is_detached), flush=True)
            status = 0 if is_detached else self._show()
        except Interrupted as end:
            status = end.code
        except SystemExit as end:  # a signal ended the live view
            status = end.code if isinstance(end.code, int) else 1
        except OSError:  # the terminal is closed
            stop_all(self._layout)
            raise
        if not is_detached or status:
            self._stop()
        return 0 if status == 128 + signal.SIGINT else status

    def _start(self, is_detached: bool) -> list[Member]:
        layout = self._layout
        with layout.locked():
            if layout.is_empty():
                brokers = self._brokers or len(self._racks) or _BROKERS
                layout.create(brokers, self._racks, self._port or _PORT)
            else:
                self._check_existing()
            members = layout.members()
            start(members, is_detached=is_detached)
        return members

    def _check_existing(self) -> None:
        """The files of an existing cluster stay as they are."""
        members, directory = self._layout.members(), self._layout.directory
        if any(BrokerProcess(each).state() != STOPPED for each in members):
            raise ToolError(
                f"the cluster in {directory} is running: see `barnabas cluster status --dir {directory}`"
            )
        given = {
            "--brokers": (self._brokers, len(members)),
            "--port": (self._port, members[0].port),
            "--racks": (list(self._racks) or None, [each.rack for each in members]),
        }
        for option, (wanted, found) in given.items():
            if wanted is not None and wanted != found:
                shown = ",".join(map(str, found)) if isinstance(found, list) else found
                raise ToolError(
                    f"{directory} holds a cluster with {option} {shown}: start it without {option}, use "
                    "`barnabas cluster add`, or choose another --dir"
                )

    def _show(self) -> int:
        """Until a signal. Returns the exit status."""
        view = View()
        if view.is_terminal:
            view.live(self._frame, every=_FRAME_SECONDS)
            return 128 + signal.SIGINT
        view.table(self._frame())
        with raised():
            while True:
                reap()
                time.sleep(_FRAME_SECONDS)

    def _frame(self) -> Table:
        reap()
        return read_state(self._layout).brokers()

    def _stop(self) -> None:
        print("Stopping the brokers ...", flush=True)
        print(f"Stopped {stop_all(self._layout)} brokers.", flush=True)


def _interrupt(number: int, frame: object) -> None:
    raise Interrupted(number)


def start(members: Sequence[Member], *, is_detached: bool) -> None:
    """Start all of them at once. If one fails, the others are stopped, and its reason is raised."""
    try:
        for each in [BrokerProcess(member).spawn(is_detached=is_detached) for member in members]:
            each.wait()
    except BaseException:
        _stop(members)
        raise


def stop_all(layout: Layout) -> int:
    """Stop every broker cleanly. Returns how many ran."""
    return 0 if layout.is_empty() else _stop(layout.members())


def _stop(members: Sequence[Member]) -> int:
    processes = [BrokerProcess(each) for each in members]
    stopped = sum([each.stop() for each in processes])
    for each in processes:
        reap()
        each.wait_until_stopped()
    return stopped


def banner(directory: Path, members: Sequence[Member], seconds: float, is_detached: bool) -> str:
    servers = ",".join(each.address for each in members)
    barnabas = command_of("barnabas") or f"{python_command()} -m barnabas"
    where = f" --dir {directory}"
    create = f"topic create orders --partitions 3 --replication-factor {min(3, len(members))}"
    rows = [
        ("Bootstrap", servers),
        ("Files in", str(directory)),
        ("Create", f"{barnabas} {create} -b {members[0].address}"),
        ("Watch", f"{barnabas} cluster status{where}"),
        ("Break", f"{barnabas} cluster kill {members[-1].id}{where}"),
        ("Repair", f"{barnabas} cluster restart {members[-1].id}{where}"),
        ("Stop", f"{barnabas} cluster down{where}" if is_detached else "Ctrl-C"),
    ]
    lines = [f"A cluster of {len(members)} brokers is ready after {seconds:.2f} s."]
    return "\n".join([*lines, *(f"  {label + ':':<11}{text}" for label, text in rows)])
