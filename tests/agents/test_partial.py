"""Parts of dialogues that failed, kept in the corpus on request, marked and counted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialens.agents import AgentSpec
from dialens.agents.talks import CollectionPlan, collect
from dialens.cli._app import app
from dialens.corpus import Corpus, partial_dialogs


@pytest.fixture
def plan(tmp_path: Path) -> CollectionPlan:
    (tmp_path / "user.txt").write_text("Hello.\nAnd then?\nWhy is that?\n")
    (tmp_path / "firm.txt").write_text("I am firm.\nI stay.\nTo the end.\n")
    # Every other conversation breaks off after the first reply; one before it.
    blocks = ["I am frail.\n!fail timeout: too late\n", "I am frail.\nStill here.\nDone.\n"] * 4
    (tmp_path / "frail.txt").write_text("\n".join(["!fail busy: no time\n", *blocks]))
    scripts = {name: AgentSpec("script", str(tmp_path / f"{name}.txt")) for name in FILES}
    agents = (scripts["firm"], scripts["frail"])
    return CollectionPlan(agents, partners=(scripts["user"],), turns=6, dialogues=9)


FILES = ("user", "firm", "frail")


def test_what_was_said_is_kept_and_marked(plan: CollectionPlan, tmp_path: Path) -> None:
    without = collect(plan, tmp_path / "without")
    assert (without.dialogues, without.partial, len(without.failures)) == (13, 0, 5)
    done = collect(plan, tmp_path / "talks", keep_partial=True)
    assert (done.dialogues, done.partial, len(done.failures)) == (17, 4, 5), (
        "in which the agent said nothing there is nothing to keep"
    )
    turns = Corpus.open(tmp_path / "talks").turns
    marked = partial_dialogs(turns).to_list()
    assert len(marked) == 4
    frame = turns.collect()
    for dialog in marked:
        said = frame.filter(frame["dialog"] == dialog).sort("turn")
        assert said["text"].to_list()[1] == "I am frail."
        meta = json.loads(said["meta"].to_list()[-1])
        assert meta["partial"] is True
        assert "too late" in meta["reason"]
    assert len(partial_dialogs(Corpus.open(tmp_path / "without").turns)) == 0


@pytest.mark.slow
def test_score_and_compare_say_how_many(
    plan: CollectionPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "-a script:firm.txt -a script:frail.txt -p script:user.txt --turns 6 --dialogs 9"
    command = f"agents collect {words} -o talks --keep-partial"
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 1, done.output
    assert "4 of them are not whole and marked" in done.output
    said = "4 of 17 dialogues broke off and count as far as they went (frail: 4)."
    for words in ("score talks -o out -m length,question", "compare out", "compare out again"):
        if words == "compare out again":
            shutil.copytree("out", "again")
        told = CliRunner().invoke(app, words.split())
        assert told.exit_code == 0, told.output
        if words == "compare out again":
            said = "8 of 34 dialogues broke off"
        assert said in told.output.replace("\n", " "), words
    assert "broke off" in (tmp_path / "out" / "report.html").read_text()
