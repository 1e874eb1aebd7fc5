"""Carries faults out on the machines, the network and the store of a simulation, and heals them."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.simulation.faults import CLIENTS, Fault
from tests.simulation.machine import Machine
from tests.simulation.network import Network
from tests.simulation.operator import Operator
from tests.simulation.scheduler import Scheduler

_SLOW_SYNC_SECONDS = 0.4


class Injection:
    def __init__(
        self,
        scheduler: Scheduler,
        network: Network,
        machines: Sequence[Machine],
        client_hosts: Sequence[str],
        operator: Operator,
    ) -> None:
        self._scheduler: Scheduler = scheduler
        self._network: Network = network
        self._machines: Sequence[Machine] = machines
        self._client_hosts: Sequence[str] = client_hosts
        self._operator: Operator = operator
        self._roles: Mapping[int, int] = operator.roles()
        self.counts: dict[str, int] = {}
        """What was carried out, by kind."""
        self.is_over: bool = False
        """No fault begins any more."""
        self._acts: Mapping[str, Callable[[Machine, Fault], bool]] = {
            "kill": self._kill,
            "cut_power": self._cut_power,
            "restart": self._restart,
            "pause": self._pause,
            "isolate": self._isolate,
            "isolate_from_store": self._isolate_from_store,
            "expire_session": self._expire_session,
            "store_away": self._store_away,
            "lose_reply": self._lose_reply,
            "late_changes": self._late_changes,
            "slow_disk": self._slow_disk,
            "full_disk": self._full_disk,
            "reset": self._reset,
            "skew": self._skew,
            "move_controller": self._move_controller,
            "elect": self._elect,
            "reassign": self._reassign,
            "join": self._join,
        }

    def schedule(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            self._scheduler.after(fault.at, repr(fault), lambda fault=fault: self.inject(fault))  # type: ignore[misc]

    def inject(self, fault: Fault) -> None:
        if self.is_over:
            return
        machine = self._machines[self._number(fault.broker)]
        if self._acts[fault.kind](machine, fault):
            self.counts[fault.kind] = self.counts.get(fault.kind, 0) + 1

    def _number(self, broker: int) -> int:
        return self._roles.get(broker, broker)

    def _later(self, fault: Fault, action: Callable[[], None]) -> None:
        self._scheduler.after(fault.seconds, f"end of {fault.kind} on broker {fault.broker}", action)

    def heal(self) -> None:
        """End every fault: all brokers run, reach each other and the store, on disks that work."""
        self.is_over = True
        self._network.heal_all()
        for machine in self._machines:
            machine.disk.heal()
            machine.clock.skew_ms = 0
            machine.resume()
            machine.reach_store()
            if machine.client is not None:
                machine.client.release_changes()
            machine.start_if_down()

    # --- processes --------------------------------------------------------------------------------------

    def _kill(self, machine: Machine, fault: Fault) -> bool:
        if not machine.is_up:
            return False
        machine.kill()
        self._later(fault, machine.start_if_down)
        return True

    def _cut_power(self, machine: Machine, fault: Fault) -> bool:
        if not machine.is_up:
            return False
        machine.cut_power(random.Random(fault.seed))
        self._later(fault, machine.start_if_down)
        return True

    def _restart(self, machine: Machine, fault: Fault) -> bool:
        if not machine.is_running or not machine.is_serving:
            return False
        machine.begin_stop(lambda: self._later(fault, machine.start_if_down))
        return True

    def _pause(self, machine: Machine, fault: Fault) -> bool:
        if not machine.is_running:
            return False
        machine.pause()
        self._later(fault, machine.resume)
        return True

    def _skew(self, machine: Machine, fault: Fault) -> bool:
        machine.clock.skew_ms = fault.seed
        self._later(fault, lambda: setattr(machine.clock, "skew_ms", 0))
        return True

    # --- the network ------------------------------------------------------------------------------------

    def _isolate(self, machine: Machine, fault: Fault) -> bool:
        ways = list(self._ways(machine, fault))
        for way in ways:
            self._network.cut(*way)

        def heal() -> None:
            for way in ways:
                self._network.heal(*way)

        self._later(fault, heal)
        return True

    def _ways(self, machine: Machine, fault: Fault) -> Iterator[tuple[str, str]]:
        if fault.other == CLIENTS:
            others = list(self._client_hosts)
        elif fault.other != -1:
            others = [self._machines[self._number(fault.other)].name]
        else:
            others = [each.name for each in self._machines if each is not machine]
            others += self._client_hosts
        for other in others:
            if fault.direction in ("out", "both"):
                yield machine.name, other
            if fault.direction in ("in", "both"):
                yield other, machine.name

    def _reset(self, machine: Machine, fault: Fault) -> bool:
        for source, target in self._ways(machine, fault):
            self._network.reset_connections(source, target)
        return True

    # --- the store --------------------------------------------------------------------------------------

    def _isolate_from_store(self, machine: Machine, fault: Fault) -> bool:
        machine.lose_store()
        self._later(fault, machine.reach_store)
        return True

    def _store_away(self, _: Machine, fault: Fault) -> bool:
        """Sessions do not expire meanwhile: the store is what would end them."""
        for machine in self._machines:
            machine.leases.is_away = True
            machine.lose_store()

        def come_back() -> None:
            for machine in self._machines:
                machine.leases.is_away = False
                machine.reach_store()

        self._later(fault, come_back)
        return True

    def _expire_session(self, machine: Machine, _: Fault) -> bool:
        if machine.client is None:
            return False
        machine.client.expire()  # also that of a broker that is down: its death is noticed
        return True

    def _lose_reply(self, machine: Machine, _: Fault) -> bool:
        if machine.client is None or not machine.is_up:
            return False
        machine.client.loses_next_reply = True
        return True

    def _late_changes(self, machine: Machine, fault: Fault) -> bool:
        client = machine.client
        if client is None or not machine.is_up:
            return False
        client.hold_changes()
        self._later(fault, client.release_changes)
        return True

    # --- the operator ------------------------------------------------------------------------------------

    def _move_controller(self, _: Machine, __: Fault) -> bool:
        return self._operator.move_controller()

    def _elect(self, machine: Machine, _: Fault) -> bool:
        return self._operator.elect(machine.number)

    def _reassign(self, _: Machine, fault: Fault) -> bool:
        return self._operator.reassign(fault.seed)

    def _join(self, machine: Machine, _: Fault) -> bool:
        """A broker that was not there at the beginning."""
        if machine.is_up:
            return False
        machine.start()
        return True

    # --- the disk ---------------------------------------------------------------------------------------

    def _slow_disk(self, machine: Machine, fault: Fault) -> bool:
        machine.disk.sync_seconds = _SLOW_SYNC_SECONDS
        self._later(fault, lambda: setattr(machine.disk, "sync_seconds", 0.0))
        return True

    def _full_disk(self, machine: Machine, fault: Fault) -> bool:
        if not machine.is_up:
            return False
        machine.disk.fill()
        self._later(fault, lambda: machine.disk.heal())
        return True
