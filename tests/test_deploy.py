"""The files for a server: they name what there is, keep secrets out, and run as nobody special."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
from ruamel.yaml import YAML
from typer.main import get_command

from dialens.cli.study._serve import serve

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


def _compose() -> dict[str, Any]:
    return dict(YAML(typ="safe").load((DEPLOY / "compose.yaml").read_text("utf-8")))


def _serve_options(command: str) -> dict[str, Any]:
    """What `dialens study serve` makes of a command line; it refuses what it does not know."""
    app = typer.Typer()
    app.command()(serve)
    words = shlex.split(command.partition("study serve ")[2])
    return dict(get_command(app).make_context("serve", words).params)


def _works(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _run(*command: str, **environment: str) -> None:
    import os

    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_runs_as_nobody_special_and_says_whether_it_is_well() -> None:
    lines = (DEPLOY / "Dockerfile").read_text("utf-8")
    last = lines.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (.*)$", last, re.MULTILINE) == ["10001"]
    assert "HEALTHCHECK" in last
    assert "/healthz" in last
    for image in re.findall(r"^FROM (\S+)", lines, re.MULTILINE):
        assert re.search(r":\d", image), f"{image} has no version"
    for copied in re.findall(r"^COPY (?!--from)(\S+) \S+$", lines, re.MULTILINE):
        assert (ROOT / copied).exists()


def test_nothing_private_gets_into_the_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {".git", "deploy/secrets", "deploy/studies", "deploy/backups"} <= set(ignored)
    assert set((DEPLOY / ".gitignore").read_text().split()) == {"studies/", "backups/", "secrets/"}


def test_services_have_what_they_name() -> None:
    compose = _compose()
    for name, service in compose["services"].items():
        assert service["restart"] == "unless-stopped"
        assert set(service.get("secrets", ())) <= set(compose["secrets"])
        assert set(service["networks"]) <= set(compose["networks"])
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        assert ("ports" in service) is (name == "proxy")
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or source.startswith("./")
    assert compose["networks"]["data"]["internal"] is True
    assert all(secret["file"].startswith("./secrets/") for secret in compose["secrets"].values())
    assert "password" not in str(compose["services"]["study"].get("environment", ""))


def test_the_study_trusts_the_network_of_its_proxy_alone() -> None:
    compose = _compose()
    said = _serve_options(
        compose["services"]["study"]["command"].replace("${STUDIES:?", "").replace("}", "")
    )
    (network,) = compose["networks"]["front"]["ipam"]["config"]
    assert said["proxy"] == network["subnet"]
    assert said["host"] == "0.0.0.0"
    assert str(said["password_file"]) == "/run/secrets/researcher_password"
    assert "study:8000" in (DEPLOY / "Caddyfile").read_text("utf-8")


def test_the_unit_calls_the_command_as_it_is() -> None:
    unit = (DEPLOY / "dialens-study.service").read_text("utf-8")
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    said = _serve_options(line)
    assert said["proxy"] == "127.0.0.1"
    assert "LoadCredential=password:" in unit
    if _works("systemd-analyze", "--version"):
        shown = subprocess.run(
            ["systemd-analyze", "verify", str(DEPLOY / "dialens-study.service")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Unknown" not in shown.stderr


@pytest.mark.skipif(not _works("caddy", "version"), reason="Caddy is not installed")
def test_caddy_understands_its_file(tmp_path: Path) -> None:
    file = str(DEPLOY / "Caddyfile")
    _run("caddy", "adapt", "--config", file, "--adapter", "caddyfile", HOST="study.example.org")


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_hadolint_finds_nothing() -> None:
    _run("hadolint", str(DEPLOY / "Dockerfile"))


@pytest.mark.skipif(not _works("docker", "compose", "version"), reason="no Docker Compose")
def test_compose_understands_its_file() -> None:
    file = str(DEPLOY / "compose.yaml")
    _run("docker", "compose", "-f", file, "config", "--quiet", HOST="x.org", STUDIES="warmth")


@pytest.mark.slow
@pytest.mark.skipif(not _works("docker", "info"), reason="Docker does not run here")
def test_the_image_is_built_and_answers() -> None:
    _run("docker", "build", "-f", "deploy/Dockerfile", "-t", "dialens-study-test", ".")
    _run(
        "docker", "run", "--rm", "--read-only", "--tmpfs", "/tmp", "dialens-study-test", "--version"
    )
