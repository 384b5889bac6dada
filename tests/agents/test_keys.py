"""Keys go where the user says and nowhere else, and stand in nothing that is written."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from dialens.agents import AgentSpec, make_agent
from dialens.agents._keys import belongs
from dialens.base import DialensError
from dialens.cli._app import app
from tests.agents.hostile import HostileServer, refusal, reply, whole

KEY = "kx-4fQ81zLm0TtY77bCwq9"
TOKEN = "gw_88Hn2PqR5vXz0LkJ3"
PROXY = "pr0xyPassWord4Tests"
CODED = base64.b64encode(f"user:{KEY}".encode()).decode()

QUOTES = {
    "said": whole(reply(f"Your key is {KEY}, I believe.")),
    "in-part": whole(reply(f"Your key begins with {KEY[:14]}…")),
    "coded": whole(reply(f"Basic {CODED}")),
    "in-address": whole(reply(f"See http://x/?key={quote(KEY)}&t={TOKEN}")),
    "header": whole(reply(f"You sent X-Gateway: {TOKEN}")),
    "model": whole(reply("Hello.", model=f"m-{KEY}", system_fingerprint=f"fp-{TOKEN}")),
    "no-json": whole(f"<html>{KEY}</html>".encode()),
    "error": whole(json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()),
    "thought": whole(reply("Hello.").replace(b'"role"', f'"reasoning": "{KEY}", "role"'.encode())),
    "status-400": whole(f"{KEY} {TOKEN} {CODED}".encode(), refusal(400)),
    "status-401": whole(KEY.encode(), refusal(401)),
    "status-500": whole(f"{PROXY} {TOKEN[:12]}".encode(), refusal(500)),
}  # fmt: skip
SECRETS = (KEY, KEY[:14], TOKEN, TOKEN[:12], CODED[8:24], PROXY)


def run(*arguments: str, folder: Path, **environment: str) -> tuple[int, str, str]:
    """Run a command in this process; gives its status, what it printed, and what it refused."""
    known = {"COLUMNS": "300", "DIALENS_ALLOW": "", **environment}
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for name, value in known.items():
            patched.setenv(name, value)
        ran = CliRunner().invoke(app, arguments)
    if isinstance(ran.exception, DialensError):
        return 2, ran.output, str(ran.exception)
    if ran.exception and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return ran.exit_code, ran.output, ""


def run_alone(*arguments: str, folder: Path, **environment: str) -> tuple[int, str, str]:
    """The same in a process of its own, with what it writes to both streams."""
    program = [sys.executable, "-m", "dialens", *arguments]
    known = {**os.environ, "COLUMNS": "300", **environment}
    ran = subprocess.run(
        program, cwd=folder, env=known, capture_output=True, text=True, timeout=120, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


def plan(folder: Path, url: str, models: list[str], **settings: object) -> Path:
    agents = [
        {"agent": f"openai:{model}", "set": {"endpoint": url, "attempts": 1, **settings}}
        for model in models
    ]
    file = folder / "plan.yaml"
    content = {"agents": agents, "partners": ["script:user.txt"], "dialogues": 2, "turns": 2}
    file.write_text(json.dumps(content))
    (folder / "user.txt").write_text("Hello.\nGood.\n")
    return file


def test_a_quoted_key_stands_in_nothing_that_is_written(tmp_path: Path) -> None:
    with HostileServer() as server:
        server.own.update({name: partial(list, said) for name, said in QUOTES.items()})
        gateway = json.dumps({"X-Gateway": "env:GATEWAY"})
        plan(tmp_path, server.url, list(QUOTES), key_variable="MY_KEY", headers=gateway)
        status, out, err = run_alone(
            "agents", "collect", "plan.yaml", "-o", "talks", "--keep-partial",
            "--allow", "MY_KEY@127.0.0.1", "--allow", "GATEWAY@127.0.0.1",
            folder=tmp_path, MY_KEY=KEY, GATEWAY=TOKEN,
            http_proxy="", HTTPS_PROXY=f"http://me:{PROXY}@127.0.0.1:9",
        )  # fmt: skip
        assert status == 1, err
        assert len(server.requests) >= 2 * len(QUOTES) - 1  # who refuses a key is asked once
        assert all(KEY.encode() in one and TOKEN.encode() in one for one in server.requests)
    assert "Keys: GATEWAY goes to 127.0.0.1; MY_KEY goes to 127.0.0.1." in out
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    written |= {Path("stdout"): out.encode(), Path("stderr"): err.encode()}
    assert {path.name for path in written} >= {"collected.jsonl", "failures.jsonl", "manifest.json"}
    found = [(path, one) for path, raw in written.items() for one in SECRETS if one.encode() in raw]
    assert found == []
    journal = (tmp_path / "talks" / "collected.jsonl").read_text()
    assert "Your key is [secret removed], I believe." in journal
    assert "have a `note`, most often: a secret was taken out of it" in out


PAIRS = [
    ({"key_variable": "AWS_SECRET_ACCESS_KEY"}, "AWS_SECRET_ACCESS_KEY"),
    ({"key_variable": "OPENAI_API_KEY"}, "OPENAI_API_KEY"),
    ({"headers": '{"X-Api-Key": "env:AWS_SECRET_ACCESS_KEY"}'}, "AWS_SECRET_ACCESS_KEY"),
]


@pytest.mark.parametrize(("settings", "variable"), PAIRS)
def test_a_plan_sends_no_variable_without_the_users_word(
    tmp_path: Path, settings: dict[str, str], variable: str
) -> None:
    known = {"AWS_SECRET_ACCESS_KEY": KEY, "OPENAI_API_KEY": KEY}
    collecting = ("agents", "collect", "plan.yaml", "-o", "talks")
    with HostileServer() as server:
        plan(tmp_path, server.url, ["good"], **settings)
        for more in ((), ("--dry-run",), ("--allow", f"{variable}@other.example")):
            status, out, err = run(*collecting, *more, folder=tmp_path, **known)
            assert status == 2, out
            said = " ".join(err.split())
            assert f"{variable} would be sent to 127.0.0.1" in said
            assert f"--allow {variable}@127.0.0.1" in said
        assert server.requests == []
        allowed = ("--allow", f"{variable}@127.0.0.1")
        status, out, _ = run(*collecting, "--dry-run", *allowed, folder=tmp_path, **known)
        assert (status, server.requests) == (0, [])
        assert f"Keys: {variable} goes to 127.0.0.1." in out
        own = {**known, "DIALENS_ALLOW": f"{variable}@127.0.0.1"}
        status, out, _ = run(*collecting, folder=tmp_path, **own)
        assert status == 0
        assert f"Keys: {variable} goes to 127.0.0.1." in out
        assert all(KEY.encode() in request for request in server.requests)


def test_what_the_user_types_is_their_word(tmp_path: Path) -> None:
    with HostileServer() as server:
        typed = ("--set", f"endpoint={server.url}", "--set", "key_variable=MY_KEY")
        chat = ("agents", "chat", "openai:good", *typed)
        status, out, _ = run(*chat, folder=tmp_path, MY_KEY=KEY)
        assert status == 0
        assert "Keys: MY_KEY goes to 127.0.0.1." in out
        (tmp_path / "headers.json").write_text('{"X-Api-Key": "env:AWS_SECRET_ACCESS_KEY"}')
        file = ("--set", "headers=headers.json")  # which may be somebody else's
        known = {"MY_KEY": KEY, "AWS_SECRET_ACCESS_KEY": TOKEN}
        status, out, err = run(*chat, *file, folder=tmp_path, **known)
        assert status == 2
        assert "would be sent to 127.0.0.1" in " ".join(err.split())


def test_judges_and_agents_of_studies_alike(tmp_path: Path) -> None:
    with HostileServer() as server:
        reach = {"endpoint": server.url, "key_variable": "AWS_SECRET_ACCESS_KEY"}
        run("study", "new", "--template", "likert", "-o", "s", folder=tmp_path)
        judges = {"judges": [{"name": "a", "agent": "openai:good", "set": reach}]}
        (tmp_path / "s" / "judges.yaml").write_text(json.dumps(judges))
        secret = {"AWS_SECRET_ACCESS_KEY": KEY}
        for more in ((), ("--dry-run",)):
            status, _, err = run("study", "judge", "s", *more, folder=tmp_path, **secret)
            assert status == 2
            assert "--allow AWS_SECRET_ACCESS_KEY@127.0.0.1" in " ".join(err.split())
        allowed = ("--allow", "AWS_SECRET_ACCESS_KEY@127.0.0.1")
        status, out, err = run(
            "study", "judge", "s", "--dry-run", *allowed, folder=tmp_path, **secret
        )
        assert "Keys: AWS_SECRET_ACCESS_KEY goes to 127.0.0.1." in out
        assert status == 0, err
        run("study", "new", "--template", "three-bots", "-o", "c", folder=tmp_path)
        file = tmp_path / "c" / "study.yaml"
        _talk_with(file, reach)
        for command in (("check", "c", "--offline"), ("serve", "c", "--unfinished")):
            status, _, err = run("study", *command, folder=tmp_path, **secret)
            assert status == 2, err
            assert "--allow AWS_SECRET_ACCESS_KEY@127.0.0.1" in " ".join(err.split())
        status, out, err = run(
            "study", "check", "c", "--offline", *allowed, folder=tmp_path, **secret
        )
        assert status == 0, err
        assert "Keys: AWS_SECRET_ACCESS_KEY goes to 127.0.0.1." in out
        assert server.requests == []


def _talk_with(file: Path, reach: dict[str, str]) -> None:
    """Let the first agent of a study be one behind an endpoint."""
    from ruamel.yaml import YAML

    yaml = YAML()
    study = yaml.load(file.read_text())
    study["conversations"]["agents"][0] |= {"agent": "openai:good", "set": reach}
    with file.open("w") as out:
        yaml.dump(study, out)


@pytest.mark.parametrize(
    ("variable", "address", "sent"),
    [
        ("OPENAI_API_KEY", "https://api.openai.com/v1", True),
        ("OPENAI_API_KEY", "http://api.openai.com/v1", False),
        ("OPENAI_API_KEY", "https://api.openai.com.evil.example/v1", False),
        ("OPENAI_API_KEY", "https://evil-api.openai.com/v1", False),
        ("OPENAI_API_KEY", "https://api.\u043epenai.com/v1", False),
        ("AZURE_OPENAI_API_KEY", "https://me.openai.azure.com/openai/v1", True),
        ("AZURE_OPENAI_API_KEY", "https://openai.azure.com.evil.example/v1", False),
        ("AZURE_OPENAI_API_KEY", "https://evilopenai.azure.com/v1", False),
        ("GROQ_API_KEY", "https://api.groq.com/openai/v1", True),
        ("GROQ_API_KEY", "https://api.openai.com/v1", False),
        ("HOME", "https://api.openai.com/v1", False),
    ],
)
def test_well_known_keys_go_to_their_own_hosts(
    monkeypatch: pytest.MonkeyPatch, variable: str, address: str, *, sent: bool
) -> None:
    monkeypatch.setenv(variable, KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("DIALENS_ALLOW", raising=False)
    spec = AgentSpec("openai", "m", parameters={"endpoint": address, "key_variable": variable})
    if sent:
        make_agent(spec).close()  # type: ignore[attr-defined]
    else:
        with pytest.raises(DialensError, match=f"{variable} would be sent to"):
            make_agent(spec)


def test_the_users_own_address_gets_the_usual_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    monkeypatch.delenv("DIALENS_ALLOW", raising=False)
    agent = make_agent("openai:m")
    assert agent.keys_sent == [("OPENAI_API_KEY", "localhost")]  # type: ignore[attr-defined]
    with pytest.raises(DialensError, match=r"evil\.example"):
        make_agent(
            AgentSpec(
                "openai",
                "m",
                parameters={
                    "endpoint": "http://evil.example/v1", "key_variable": "OPENAI_API_KEY",
                },
            )
        )  # fmt: skip


def test_a_body_that_holds_a_secret_is_refused() -> None:
    body = json.dumps({"provider": {"name": "x", "auth": "Bearer abcdef123456"}})
    with pytest.raises(DialensError, match="looks like a secret"):
        make_agent(
            AgentSpec("openai", "m", parameters={"endpoint": "http://h/v1", "extra_body": body})
        )


def test_hosts_are_told_apart() -> None:
    assert belongs("OPENAI_API_KEY", "API.OpenAI.com.")
    assert not belongs("OPENAI_API_KEY", "openai.com")
