"""Apache Kafka's own command-line tools, in one JVM for all tests (protocol: java/ToolDriver.java).

Some tools call System.exit, which cannot be caught, and would end that JVM: the verifiable clients always get
a JVM of their own; kafka-cluster does so only over arguments it does not understand, and is run again.
"""

import itertools
import json
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypedDict

from tests.integration.tools.programs import Ran
from tests.patience import PATIENCE, PROGRAM_PATIENCE

_JAVA_SOURCES: Final = Path(__file__).parent / "java"
# A short life on a machine with few cores: no second compiler, no parallel collector.
JVM: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Dfile.encoding=UTF-8")
_TOOLS: Final = "org.apache.kafka.tools."
MAIN_CLASSES: Final[Mapping[str, str]] = {
    "kafka-acls": _TOOLS + "AclCommand",
    "kafka-broker-api-versions": _TOOLS + "BrokerApiVersionsCommand",
    "kafka-cluster": _TOOLS + "ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": _TOOLS + "consumer.ConsoleConsumer",
    "kafka-console-producer": _TOOLS + "ConsoleProducer",
    "kafka-consumer-groups": _TOOLS + "consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": _TOOLS + "ConsumerPerformance",
    "kafka-delete-records": _TOOLS + "DeleteRecordsCommand",
    "kafka-dump-log": _TOOLS + "DumpLogSegments",
    "kafka-e2e-latency": _TOOLS + "EndToEndLatency",
    "kafka-features": _TOOLS + "FeatureCommand",
    "kafka-get-offsets": _TOOLS + "GetOffsetShell",
    "kafka-groups": _TOOLS + "GroupsCommand",
    "kafka-leader-election": _TOOLS + "LeaderElectionCommand",
    "kafka-log-dirs": _TOOLS + "LogDirsCommand",
    "kafka-metadata-quorum": _TOOLS + "MetadataQuorumCommand",
    "kafka-producer-perf-test": _TOOLS + "ProducerPerformance",
    "kafka-reassign-partitions": _TOOLS + "reassign.ReassignPartitionsCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": _TOOLS + "TopicCommand",
    "kafka-transactions": _TOOLS + "TransactionsCommand",
    "kafka-verifiable-consumer": _TOOLS + "VerifiableConsumer",
    "kafka-verifiable-producer": _TOOLS + "VerifiableProducer",
}
_OWN_JVM: Final = frozenset({"kafka-verifiable-consumer", "kafka-verifiable-producer"})


class _Answer(TypedDict):
    id: str
    ended: bool
    stdout: str
    stderr: str
    code: int


class MachineEnded(Exception):
    """A tool ended the JVM in which all of them run."""


class ApacheRunning:
    """A tool of Apache Kafka that runs until it ends or is interrupted."""

    def __init__(self, tools: "ApacheTools", number: str, program: str) -> None:
        self._tools = tools
        self._number = number
        self._program = program
        self._ended: Ran | None = None

    def wait_for_line(self, part: str = "", timeout: float = PATIENCE) -> str:
        """The first line of standard output that has `part` in it."""
        deadline = time.monotonic() + timeout
        while True:
            so_far = self._peek()
            for line in so_far.stdout.splitlines(keepends=True):
                if part in line and line.endswith("\n"):
                    return line.rstrip("\n")
            if self._ended is not None:
                raise AssertionError(f"{self._program} ended without a line with {part!r}: {self._ended}")
            if time.monotonic() > deadline:
                raise AssertionError(f"no line with {part!r} in {timeout} s; so far {so_far}")
            time.sleep(0.02)

    def _peek(self) -> Ran:
        if self._ended is None:
            self._tools.send(self._number, "peek")
            answer = self._tools.next_answer(self._number, PATIENCE)
            if not answer["ended"]:
                return _ran(answer)
            self._ended = _ran(answer)
        return self._ended

    def wait(self, timeout: float = PATIENCE) -> Ran:
        """What it left behind; one that goes on for too long is stopped, and that fails the test."""
        if self._ended is None:
            try:
                self._ended = _ran(self._tools.last_answer(self._number, timeout))
            except queue.Empty:
                so_far = self.interrupt()
                raise TimeoutError(
                    f"{self._program} goes on after {timeout} s; until then {so_far}"
                ) from None
        return self._ended

    def interrupt(self) -> Ran:
        """Ctrl-C, and what it left behind."""
        if self._ended is None:
            self._tools.send(self._number, "stop")
            self._ended = _ran(self._tools.last_answer(self._number, PATIENCE))
        return self._ended


class ApacheTools:
    """The running JVM. Tools may run side by side, in threads of their own."""

    def __init__(self, java: str, jars: Path, classes: Path) -> None:
        self._command = [java, *JVM, "-Xmx512M", f"-Dlog4j2.configurationFile={_JAVA_SOURCES / 'log4j2.xml'}"]
        self._command += ["-cp", f"{jars}/*:{classes}"]
        _compile(jars, classes)
        self._numbers = itertools.count()
        self._writing = threading.Lock()
        self._answers: dict[str, queue.SimpleQueue[_Answer | None]] = {}
        self._launch()

    def _launch(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [*self._command, "ToolDriver"], stdin=pipe, stdout=pipe, encoding="utf-8", start_new_session=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self, program: str, *arguments: str, stdin: str = "", timeout: float = PROGRAM_PATIENCE) -> Ran:
        """Run a tool (`kafka-topics`, or with `.sh`) to its end."""
        name = program.removesuffix(".sh")
        if name in _OWN_JVM:
            return self._run_in_own_jvm(MAIN_CLASSES[name], arguments, stdin, timeout)
        try:
            with self.start(name, *arguments, stdin=stdin) as running:
                return running.wait(timeout)
        except MachineEnded:
            self.close()
            self._launch()
            return self._run_in_own_jvm(MAIN_CLASSES[name], arguments, stdin, timeout)

    @contextmanager
    def start(self, program: str, *arguments: str, stdin: str = "") -> Iterator[ApacheRunning]:
        """Run a tool until it ends, is interrupted, or the block is left."""
        name = program.removesuffix(".sh")
        assert name not in _OWN_JVM, f"{name} would end the JVM of all tools"
        number = str(next(self._numbers))
        self._answers[number] = queue.SimpleQueue()
        self.send(number, "run", main=MAIN_CLASSES[name], arguments=arguments, stdin=stdin)
        running = ApacheRunning(self, number, name)
        try:
            yield running
        finally:
            with suppress(MachineEnded):
                running.interrupt()
            del self._answers[number]

    def send(self, number: str, command: str, **more: object) -> None:
        assert self._process.stdin is not None
        try:
            with self._writing:
                self._process.stdin.write(json.dumps({"id": number, "do": command, **more}) + "\n")
                self._process.stdin.flush()
        except BrokenPipeError:
            raise MachineEnded from None

    def next_answer(self, number: str, timeout: float) -> _Answer:
        answer = self._answers[number].get(timeout=timeout)
        if answer is None:
            self._answers[number].put(None)  # for the next call
            raise MachineEnded
        return answer

    def last_answer(self, number: str, timeout: float) -> _Answer:
        """The answer that ends the tool. Raises queue.Empty if none arrives in time."""
        deadline = time.monotonic() + timeout
        while True:
            answer = self.next_answer(number, max(0.0, deadline - time.monotonic()))
            if answer["ended"]:
                return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer: _Answer = json.loads(line)
            with suppress(KeyError):  # the caller no longer waits for it
                self._answers[answer["id"]].put(answer)
        for waiting in list(self._answers.values()):
            waiting.put(None)

    def _run_in_own_jvm(self, main: str, arguments: Sequence[str], stdin: str, timeout: float) -> Ran:
        command = [*self._command, main, *arguments]
        done = subprocess.run(
            command, input=stdin, capture_output=True, encoding="utf-8", timeout=timeout, check=False
        )
        return Ran(done.stdout, done.stderr, done.returncode)


def _ran(answer: _Answer) -> Ran:
    return Ran(answer["stdout"], answer["stderr"], answer["code"])


def _compile(jars: Path, classes: Path) -> None:
    sources = sorted(map(str, _JAVA_SOURCES.glob("*.java")))
    command = ["javac", "--release", "17", "-d", str(classes), "-cp", f"{jars}/*", *sources]
    subprocess.run(command, check=True, timeout=PROGRAM_PATIENCE)
