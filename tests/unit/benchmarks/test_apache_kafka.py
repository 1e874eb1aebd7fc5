import shutil
import stat
from pathlib import Path

import pytest
from benchmarks.apache_kafka import ApacheKafka, ApacheKafkaUnavailable, default_cache


def put_program(directory: Path, name: str, script: str) -> None:
    program = directory / name
    program.write_text(f"#!{shutil.which('sh')}\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_cache_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BARNABAS_BENCH_CACHE", str(tmp_path))
    assert default_cache() == tmp_path


def test_missing_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ApacheKafkaUnavailable, match="java"):
        ApacheKafka.fetch(tmp_path / "cache")


def test_missing_maven_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_program(tmp_path, "java", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ApacheKafkaUnavailable, match="Maven"):
        ApacheKafka.fetch(tmp_path / "cache")


def test_unreachable_maven_central_says_what_maven_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_program(tmp_path, "java", "exit 0")
    put_program(tmp_path, "mvn", "echo '[ERROR] central: unknown host'; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ApacheKafkaUnavailable, match="unknown host"):
        ApacheKafka.fetch(tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("jars.complete"))
