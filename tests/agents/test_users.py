"""Simulated users: who they are, how they stop, and that they stay in their part."""

from __future__ import annotations

import json
import stat
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.agents import AgentError, AgentSpec, Message, make_agent
from dialens.agents.talks import CollectionPlan, collect, open_plan, read_plan, simulated_users
from dialens.agents.users import SimulatedUser, read_pack, shipped_packs
from dialens.agents.users._prompt import SHOWN_ANSWERS
from dialens.agents.users._replies import read_written
from dialens.base import DialensError
from dialens.cli._app import app
from tests.agents.small_model import MODEL, here

PLAYER = """#!{python}
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    said = say(asked["seed"], asked["history"])
    print(json.dumps({{"id": asked["id"], "text": said}}), flush=True)
"""

PACK = """pack: small
scenarios:
  - name: rain
    user: Ann
    persona: Ann is a sailor of 30.
    goal: to know the weather
    opening: Will it rain?
    mood: {mood}
  - name: tea
    user: Bob
    persona: Bob is a cook.
    goal: a cup of tea
    opening: Tea, please.
"""


def player(folder: Path, say: str, name: str = "player.py") -> AgentSpec:
    """A program that plays users by a rule: Python of `say(seed, history)`."""
    path = folder / name
    head, rest = PLAYER.format(python=sys.executable).split("\n", 1)
    path.write_text(f"{head}\n{say}\n{rest}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return AgentSpec("command", str(path), parameters={"keep": True})


@pytest.fixture
def bots(tmp_path: Path) -> tuple[AgentSpec, ...]:
    (tmp_path / "ann.txt").write_text("I see.\nWell.\nHm.\nYes.\n")
    (tmp_path / "bob.txt").write_text("Why?\nWhen?\nWho?\nHow?\n")
    return tuple(AgentSpec("script", str(tmp_path / f"{name}.txt")) for name in ("ann", "bob"))


def scripted(folder: Path, lines: str) -> AgentSpec:
    path = folder / "lines.txt"
    path.write_text(lines)
    return AgentSpec("script", str(path))


def said_in(folder: Path) -> dict[str, list[dict[str, Any]]]:
    turns: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in pl.read_parquet(folder / "turns.parquet").iter_rows(named=True):
        row["meta"] = json.loads(row["meta"] or "{}")
        turns[row["dialog"]].append(row)
    return turns


def test_every_pack_that_ships_has_ten_people() -> None:
    assert len(shipped_packs()) == 5
    every = [one for name in shipped_packs() for one in read_pack(name).scenarios]
    for name in shipped_packs():
        pack = read_pack(name)
        assert (pack.name, len(pack.scenarios)) == (name, 10)
        assert len({one.name for one in pack.scenarios}) == 10
    # Users are told apart by name, and openings pair dialogues.
    assert len({one.user for one in every}) == len({one.opening for one in every}) == 50
    assert all(one.mood and one.knowledge and one.opening for one in every)
    # The name stands in the persona, by which the model knows whom it plays.
    assert all(one.persona.startswith(one.user) for one in every)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (("    goal: to know the weather\n", ""), r"mine\.yaml:3: .*goal: is missing"),
        (("name: tea", "name: rain"), r"mine\.yaml:\d+: .*2 scenarios are called 'rain'"),
        (("mood:", "moood:"), r"mine\.yaml:8: .*moood: there is no such key"),
        (("user: Bob", "user: 'Bob: the cook'"), r"mine\.yaml:10: .*user"),
    ],
)
def test_mistakes_in_a_scenario_file_name_their_line(
    tmp_path: Path, broken: tuple[str, str], said: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PACK.format(mood="calm").replace(*broken))
    with pytest.raises(DialensError, match=said):
        read_pack(path)


def test_dialogue_k_meets_scenario_k_whoever_the_agent_is(
    tmp_path: Path, bots: tuple[AgentSpec, ...]
) -> None:
    by = player(tmp_path, "def say(seed, history): return f'My number is {seed}. [GOES ON]'")
    plan = CollectionPlan(bots, simulated_users(["complaint"], by), turns=4, dialogues=12)
    collect(plan, tmp_path / "talks", workers=3)
    talks = said_in(tmp_path / "talks")
    users = [one.user for one in read_pack("complaint").scenarios]
    for number in range(12):
        ann, bob = (talks[f"{bot}+user(complaint)-{number + 1:03d}"] for bot in ("ann", "bob"))
        assert str(ann[0]["speaker"]).startswith(f"{users[number % 10]} (")
        # The same first words, so that `compare` pairs them, and the same draw of the user.
        assert [ann[place]["text"] for place in (0, 2)] == [bob[place]["text"] for place in (0, 2)]
        assert ann[0]["meta"]["opening"] is True
        assert ann[0]["meta"]["persona"].startswith(users[number % 10])
        assert all(turn["meta"]["scenario"].startswith("complaint/") for turn in ann)
        assert ann[-1]["meta"]["ended"] == "most turns"
    # The eleventh is the first person again, drawn anew.
    first, again = (talks[f"ann+user(complaint)-{n:03d}"] for n in (1, 11))
    assert first[0]["text"] == again[0]["text"]
    assert first[2]["text"] != again[2]["text"]


STOPS = """pack: stops
scenarios:
  - {name: marker, user: Ann, persona: Ann., goal: tea, opening: A}
  - {name: patience, user: Bob, persona: Bob., goal: tea, opening: B, patience: 2}
  - {name: turns, user: Cy, persona: Cy., goal: tea, opening: C, turns: 2}
  - {name: heard, user: Di, persona: Di., goal: tea, opening: D, satisfied_by: [here you are]}
  - {name: leaves, user: Ed, persona: Ed., goal: tea, opening: E, leaves_on: [bye now]}
  - {name: open, user: Fay, persona: Fay., goal: tea, opening: F}
"""


def test_why_a_dialogue_ended_is_kept_and_told(tmp_path: Path) -> None:
    (tmp_path / "stops.yaml").write_text(STOPS)
    (tmp_path / "bot.txt").write_text("Wait.\nHere you are!\nWhat else?\nMore?\n")
    rule = """def say(seed, history):
    task = history[-1]["text"]
    if "Ann." in task: return "Thanks a lot. [GOT IT]"
    if "Bob has lost all patience" in task: return "I am off. [GOES ON]"
    if "Ed." in task: return "Bye now, I am off."
    return f"Still waiting, {task.count('Assistant:')} times. [GOES ON]"
"""
    by = player(tmp_path, rule)
    result = CliRunner().invoke(
        app,
        ["agents", "collect", "-a", f"script:{tmp_path / 'bot.txt'}", "--users",
         str(tmp_path / "stops.yaml"), "--by", str(by), "--set", "user.keep=yes", "--dialogs", "6",
         "-o", str(tmp_path / "talks")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    talks = list(said_in(tmp_path / "talks").values())
    assert [(talk[-1]["meta"]["ended"], len(talk)) for talk in talks] == [
        ("goal reached", 3),
        ("gave up", 5),
        ("most turns", 4),
        ("goal reached", 4),
        ("said goodbye", 3),
        ("most turns", 8),
    ]
    assert talks[0][-1]["text"] == "Thanks a lot."
    told = {"goal reached": 2, "gave up": 1, "said goodbye": 1, "most turns": 2}
    manifest = json.loads((tmp_path / "talks" / "manifest.json").read_text())
    assert manifest["source"]["ended"] == {"bot": told}
    ended = "goal reached 2, gave up 1, said goodbye 1, most turns 2"
    assert f"Dialogues with bot ended: {ended}." in result.output


def test_users_who_fall_out_of_their_part_are_told(tmp_path: Path) -> None:
    (tmp_path / "bot.txt").write_text("Wait.\nNo.\n")
    by = player(tmp_path, "def say(seed, history):\n    return 'How can I help you, Sir?'\n")
    result = CliRunner().invoke(
        app,
        ["agents", "collect", "-a", f"script:{tmp_path / 'bot.txt'}", "--users", "complaint",
         "--by", str(by), "--set", "user.keep=yes", "--dialogs", "2", "--turns", "4",
         "-o", str(tmp_path / "talks")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert "have a `note`, most often: speaks as an assistant." in told


@pytest.mark.parametrize(
    ("written", "text", "ends", "faults"),
    [
        ("Fine, thanks. [GOT IT]", "Fine, thanks.", "goal reached", 0),
        ("I am going. [GIVES UP]", "I am going.", "gave up", 0),
        ("[GOT IT] no, wait", "no, wait", "", 0),
        ("Fine. [GOT IT].", "Fine. .", "", 0),
        ("Fine. [Got it]", "Fine.", "", 0),
        ("Fine. [GOT IT] [GOES ON]", "Fine.", "", 0),
        ("Enough. [GIVE UP]", "Enough.", "", 0),
        ("Ann: Good.\nAssistant: More?\nAnn: No. [GOT IT]", "Good.", "", 0),
        ("Good.\n\nAnn is a sailor.", "Good.", "", 0),
        ('"What then?" [GOES ON]', "What then?", "", 0),
        ("Will it rain?", "Will it rain?", "", 1),
        ("It may well rain in the afternoon, they said on the radio.", None, "", 1),
        ("I'd be happy to help you with that.", None, "", 1),
        ("Is there anything else I can help you with?", None, "", 1),
        (SHOWN_ANSWERS[2], None, "", 1),
        ("[GIVES UP]", "", "gave up", 1),
    ],
)
def test_what_is_written_is_read_strictly(
    tmp_path: Path, written: str, text: str | None, ends: str, faults: int
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(PACK.format(mood="calm"))
    heard = "Oh, it may well rain in the afternoon, they said on the radio."
    said = [Message("agent", "Will it rain?"), Message("partner", heard)]
    found = read_written(written, read_pack(path).scenarios[0], said)
    assert (found.ends, len(found.faults)) == (ends, faults)
    assert text is None or found.text == text


def test_before_the_agent_has_spoken_nothing_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(PACK.format(mood="calm"))
    assert not read_written("Fine. [GOT IT]", read_pack(path).scenarios[0], []).ends


def opened(folder: Path, by: AgentSpec, mood: str = "calm") -> SimulatedUser:
    path = folder / "small.yaml"
    path.write_text(PACK.format(mood=mood))
    (spec,) = simulated_users([str(path)], by)
    user = make_agent(spec)
    assert isinstance(user, SimulatedUser)
    return user


def test_a_reply_out_of_character_is_drawn_again_once(tmp_path: Path) -> None:
    rule = "def say(seed, history): return 'How can I help you?' if seed < 9 else 'Thank you.'"
    user = opened(tmp_path, player(tmp_path, rule))
    said = [Message("agent", "Will it rain?"), Message("partner", "Yes.")]
    reply = user.reply(said, seed=2)
    assert (reply.text, reply.attempts, reply.note) == ("Thank you.", 2, "")
    user.close()
    stubborn = player(tmp_path, "def say(seed, history): return 'How can I help you?'", "two.py")
    user = opened(tmp_path, stubborn)
    reply = user.reply(said, seed=2)
    assert (reply.text, reply.attempts) == ("How can I help you?", 2)
    assert reply.note == "speaks as an assistant"
    user.close()
    silent = player(tmp_path, "def say(seed, history): return '[GOES ON]'", "three.py")
    user = opened(tmp_path, silent)
    with pytest.raises(AgentError, match="said nothing, twice"):
        user.reply(said, seed=2)
    user.close()


def test_the_task_shows_the_part_and_marks_what_was_cut_off(tmp_path: Path) -> None:
    rule = "def say(seed, history): return history[-1]['text'].replace('\\n', ' / ')"
    user = opened(tmp_path, player(tmp_path, rule), mood="cheerful").numbered(0)
    reply = user.reply([Message("agent", "Will it rain?"), Message("partner", "I think it")])
    assert "Mood: cheerful. Wants: to know the weather." in reply.text
    user.close()


def fingerprints(bots: tuple[AgentSpec, ...], users: tuple[AgentSpec, ...]) -> list[str]:
    plan = open_plan(CollectionPlan(bots[:1], users, dialogues=3))
    try:
        return [one.fingerprint for one in plan.conversations]
    finally:
        plan.close()


def test_the_words_of_a_scenario_make_the_conversation(
    tmp_path: Path, bots: tuple[AgentSpec, ...]
) -> None:
    by = scripted(tmp_path, "Yes.\n")
    path = tmp_path / "small.yaml"
    path.write_text(PACK.format(mood="calm"))
    before = fingerprints(bots, simulated_users([str(path)], by))
    slower = AgentSpec("script", by.target, parameters={"delay": 0.1})
    assert fingerprints(bots, simulated_users([str(path)], slower)) == before
    other = tmp_path / "other" / "small.yaml"
    other.parent.mkdir()
    other.write_text(PACK.format(mood="angry"))
    changed = fingerprints(bots, simulated_users([str(other)], by))
    # Ann's mood makes her two dialogues others, and leaves Bob's.
    assert [one == two for one, two in zip(before, changed, strict=True)] == [False, True, False]
    by = scripted(tmp_path, "No.\n")
    assert not set(fingerprints(bots, simulated_users([str(path)], by))) & set(before)


def test_a_plan_names_users_and_who_plays_them(tmp_path: Path, bots: tuple[AgentSpec, ...]) -> None:
    scripted(tmp_path, "Yes. [GOES ON]\n")
    (tmp_path / "mine.yaml").write_text(PACK.format(mood="calm"))
    path = tmp_path / "plan.yaml"
    text = (
        "agents: [script:ann.txt]\nusers:\n  scenarios: [complaint, mine.yaml]\n"
        "  by: {agent: script:lines.txt, set: {repeat: false}}\n"
    )
    path.write_text(text)
    plan = read_plan(path)
    assert isinstance(plan.partners, tuple)
    assert [one.target for one in plan.partners] == ["complaint", str(tmp_path / "mine.yaml")]
    assert plan.partners[0].parameters["repeat"] is False
    opened = open_plan(plan)
    # A model that plays two packs is opened once.
    assert len({id(one.agent.by) for one in opened.partners if hasattr(one.agent, "by")}) == 1
    opened.close()
    for more, said in (
        ("openings: [Hello]\n", r"plan\.yaml:\d+: .*no `openings` beside `users`"),
        ("contexts: a.jsonl\n", r"no `contexts` beside `users`"),
    ):
        path.write_text(text + more)
        with pytest.raises(DialensError, match=said):
            read_plan(path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--users", "complaint"], "Who plays the users?"),
        (["--by", "hred"], "--by plays simulated users"),
        (["--users", "complain", "--by", "hred"], "Did you mean complaint?"),
        (["--users", "complaint", "--by", "human"], "cannot play simulated users"),
        (["--users", "complaint", "--by", "hred", "-p", "hred"], "leave --partner or --users out"),
        (["--users", "complaint", "--by", "hred", "--first", "agent"], "Simulated users begin"),
    ],
)
def test_what_cannot_be_is_refused(
    bots: tuple[AgentSpec, ...], options: list[str], said: str
) -> None:
    asked = ["agents", "collect", "-a", str(bots[0]), "--dry-run", *options]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code != 0
    assert said in " ".join(str(result.exception or result.output).split())


def test_scenarios_are_listed_and_printed(tmp_path: Path) -> None:
    listed = CliRunner().invoke(app, ["agents", "scenarios"])
    assert all(name in listed.output for name in shipped_packs())
    shown = CliRunner().invoke(app, ["agents", "scenarios", "small_talk"])
    assert "begins: Did you see that hail this morning?" in shown.output
    written = CliRunner().invoke(app, ["agents", "scenarios", "small_talk", "--yaml"])
    (tmp_path / "mine.yaml").write_text(written.output)
    assert read_pack(tmp_path / "mine.yaml").scenarios == read_pack("small_talk").scenarios


@here
@pytest.mark.slow
@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="no xllamacpp here")
def test_a_small_model_plays_users(tmp_path: Path, bots: tuple[AgentSpec, ...]) -> None:
    short = {"context": 2048, "max_tokens": 24, "threads": 1}
    by = AgentSpec("llama", str(MODEL), parameters=short)
    plan = CollectionPlan(bots, simulated_users(["complaint"], by), turns=4, dialogues=1)
    for name in ("talks", "again"):
        collect(plan, tmp_path / name, workers=1)
    first, again = (said_in(tmp_path / name) for name in ("talks", "again"))
    assert first == again
    for talk in first.values():
        drawn = [str(turn["text"]) for turn in talk if turn["role"] == "partner"][1:]
        assert drawn
        for text in drawn:
            assert text.strip()
            assert "[GO" not in text
            assert "Assistant:" not in text
