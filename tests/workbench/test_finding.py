"""What a folder holds: every kind is found, what changed is stale, what is broken does no harm."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from pathlib import Path

import pytest

from dialens.base import DialensError, Recorder
from dialens.corpus import demo_path
from dialens.workbench import KIND_WORDS, KINDS, Catalogue, Item, find, sentence
from tests.workbench.folders import dialens, print_of, write_chats


def states(catalogue: Catalogue) -> dict[str, str]:
    return {item.name: item.state for item in catalogue.items}


def kinds(catalogue: Catalogue) -> dict[str, str]:
    return {item.name: item.kind for item in catalogue.items}


def sources(item: Item) -> list[str | None]:
    return [source.item for source in item.sources]


def test_a_project_is_found_with_what_was_made_from_what(project: Path) -> None:
    there = find(project)
    assert kinds(there) == {
        "chats.jsonl": "corpus",
        "corpus": "corpus",
        "out": "scores",
        "compared": "comparison",
        "out/comparison": "comparison",
        "gate.json": "gate",
    }
    assert set(states(there).values()) == {"current"}
    assert all(item.why == "" for item in there.items)
    assert there.notes == ()
    scores = there.get("out")
    assert scores.title == "2 metrics of 2 agents over 16 conversations"
    assert (sources(scores), scores.sources[0].path) == (["chats.jsonl"], project / "chats.jsonl")
    assert scores.record is not None
    assert scores.sources[0].sha256 == scores.record.data["sha256"]
    assert scores.report == project / "out" / "report.html"
    for name in ("compared", "out/comparison", "gate.json"):
        assert sources(there.get(name)) == ["out"], name
    assert sources(there.get("corpus")) == ["chats.jsonl"]
    assert there.get("compared").report == project / "compared" / "comparison.html"
    assert there.get("chats.jsonl").title == "16 conversations of 2 agents, 32 turns"
    assert sentence(there) == (
        "16 conversations of 2 agents, scored with 2 metrics; 2 comparisons; 1 gate. "
        "Nothing is stale."
    )


def test_studies_are_found_with_their_people_judges_and_ratings(studies: Path) -> None:
    there = find(studies)
    assert kinds(there) == {
        "mine": "study",
        "mine/judges.yaml": "judges",
        "export": "export",
        "agreed": "agreement",
    }
    assert set(states(there).values()) == {"current"}
    study = there.get("mine")
    assert study.title == "How good are these replies? 6 simulated participants"
    assert study.counts == {"participants": 6, "simulated": 6}
    assert sources(there.get("export")) == ["mine"]
    assert sources(there.get("mine/judges.yaml")) == ["mine"]
    assert sources(there.get("agreed")) == ["export"]
    assert "1 study with 6 simulated participants" in sentence(there)


@pytest.mark.parametrize(
    ("command", "arguments", "file", "kind", "title"),
    [
        (
            "validate",
            {"corpus": "chats.jsonl", "scores": "out"},
            "validation.json",
            "validation",
            "Metrics held against people's ratings on 2 qualities",
        ),
        ("power", {}, "power.json", "power", "How many raters and items a study needs"),
        ("traits fit", {}, "card.json", "traits", "Trait models from labelled text"),
        ("study analyze", {"export": "out"}, "x.json", "analysis", "What people said in out"),
        ("engagement train", {}, "x.json", "other", "What `dialens engagement train` wrote"),
    ],
)
def test_other_kinds_are_known_by_their_command(
    project: Path, command: str, arguments: dict[str, str], file: str, kind: str, title: str
) -> None:
    folder = project / "another"
    folder.mkdir()
    (folder / file).write_text('{"qualities": ["warm", "clear"]}', "utf-8")
    (folder / "report.html").touch()
    Recorder(command, arguments).finish(folder / "run.json")
    item = find(project).get("another")
    assert (item.kind, item.title, item.state) == (kind, title, "current")
    assert item.report == folder / "report.html"
    assert sources(item) == list(arguments.values())


def test_the_folder_itself_may_be_what_is_found(project: Path) -> None:
    there = find(project / "out")
    assert [item.name for item in there.of("scores")] == ["out"]
    assert [item.name for item in there.of("corpus")] == ["chats.jsonl"]
    assert there.of("corpus")[0].path == project / "chats.jsonl"
    assert states(there)["out"] == "current"


def test_conversations_elsewhere_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "scored"
    folder.mkdir()
    options = ("--models", "none", "--no-cache", "--metrics", "length")
    dialens(folder, "score", str(demo_path()), "-o", "out", *options)
    there = find(folder)
    assert there.get("demo.jsonl").path == demo_path().resolve()
    assert there.get("out").state == "current"


def test_what_was_made_from_changed_conversations_is_stale(project: Path) -> None:
    write_chats(project / "chats.jsonl", more=1)
    there = find(project)
    assert states(there) == {
        "chats.jsonl": "current",
        "corpus": "stale",
        "out": "stale",
        "compared": "stale",
        "out/comparison": "stale",
        "gate.json": "stale",
    }
    assert "chats.jsonl is another now than when this was made" in there.get("out").why
    assert "out, from which this was made, is stale itself" in there.get("compared").why
    assert sentence(there).endswith("5 items are stale.")


def test_the_command_of_what_is_stale_mends_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_chats(project / "chats.jsonl", more=1)
    monkeypatch.chdir(project)
    for name in ("corpus", "out", "compared"):
        command = find(project).get(name).command
        assert command is not None
        dialens(project, *command.split()[1:])
    there = find(project)
    assert {name for name, state in states(there).items() if state == "stale"} == {"gate.json"}
    assert there.get("out").title == "2 metrics of 2 agents over 18 conversations"


def test_a_copy_is_no_change(project: Path) -> None:
    for path in project.rglob("*"):
        os.utime(path)
    assert set(states(find(project)).values()) == {"current"}


def test_scores_made_again_make_their_comparison_stale(project: Path) -> None:
    dialens(project, "score", "chats.jsonl", "-o", "out", "--models", "none", "-m", "question")
    there = find(project)
    assert (there.get("out").state, there.get("compared").state) == ("current", "stale")
    assert "scores.parquet" in there.get("compared").why


def test_answers_that_came_after_an_export_make_it_stale(studies: Path) -> None:
    before = find(studies).get("export")
    assert before.made is not None
    with sqlite3.connect(studies / "mine" / "simulated.db") as database:
        later = int(before.made.timestamp() * 1e6) + 60_000_000
        database.execute("UPDATE submissions SET received_at = ?", (later,))
    database.close()
    there = find(studies)
    assert (there.get("export").state, there.get("agreed").state) == ("stale", "stale")
    assert "got answers after" in there.get("export").why


def test_a_source_that_is_gone_is_said(project: Path) -> None:
    (project / "chats.jsonl").unlink()
    there = find(project)
    assert there.get("out").state == "unknown"
    assert "chats.jsonl, from which this was made, is not found any more" in there.get("out").why
    assert there.get("corpus").state == "current", "a corpus stands for itself"
    assert "out is without its source" in sentence(there)


@pytest.mark.parametrize("content", ["{", "[]", "7", '{"command": 3}', '{"a": ' * 5_000, "\x00"])
def test_damaged_records_are_items_and_no_exceptions(project: Path, content: str) -> None:
    (project / "out" / "run.json").write_text(content, "utf-8")
    (project / "corpus" / "manifest.json").write_text(content, "utf-8")
    (project / "gate.json").write_text(content, "utf-8")
    there = find(project)
    assert (there.get("out").state, there.get("corpus").state) == ("damaged", "damaged")
    assert there.get("chats.jsonl").state == "current"
    assert there.get("compared").state == "stale"


def test_records_with_strange_parts_are_damaged(project: Path) -> None:
    path = project / "out" / "run.json"
    for part in ("arguments", "counts", "data", "signatures"):
        whole = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(whole | {part: [1]}), "utf-8")
        assert find(project).get("out").state == "damaged", part
        path.write_text(json.dumps(whole), "utf-8")
    strange = {"counts": {"agents": "many"}, "started": 1, "ended": [], "seed": "x"}
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | strange), "utf-8")
    assert find(project).get("out").kind == "scores"


def test_files_that_are_missing_are_said(project: Path) -> None:
    (project / "out" / "scores.parquet").unlink()
    (project / "corpus" / "turns.parquet").unlink()
    there = find(project)
    assert there.get("out").why == "scores.parquet is missing."
    assert there.get("corpus").why == "turns.parquet is missing."


def test_a_study_that_cannot_be_read_is_damaged(studies: Path) -> None:
    study = studies / "mine" / "study.yaml"
    study.write_text(study.read_text("utf-8").replace("title:", "titel:"), "utf-8")
    (studies / "export" / "ratings.parquet").write_bytes(b"PAR1")
    there = find(studies)
    assert there.get("mine").state == "damaged"
    assert "study.yaml:1: title: is missing" in there.get("mine").why
    assert there.get("export").state == "damaged"


def test_a_database_that_is_broken_is_said(studies: Path) -> None:
    database = studies / "mine" / "simulated.db"
    database.write_bytes(database.read_bytes()[:100] + b"?" * 4_000)
    assert "simulated.db cannot be read" in find(studies).get("mine").why
    database.write_bytes(b"not at all")
    assert find(studies).get("mine").title.endswith("nobody has taken part yet")


def test_half_written_folders_are_notes(project: Path) -> None:
    scratch = project / ".out.0123456789abcdef.partial"
    scratch.mkdir()
    (scratch / "run.json").write_text("{", "utf-8")
    there = find(project)
    assert len(there.items) == 6
    assert [note for note in there.notes if "half written" in note and scratch.name in note]


def test_links_in_a_circle_and_foreign_folders_do_no_harm(project: Path) -> None:
    (project / "again").symlink_to(project, target_is_directory=True)
    (project / "lost").symlink_to(project / "nowhere")
    (project / "node_modules").mkdir()
    write_chats(project / "node_modules" / "chats.jsonl")
    deep = project
    for number in range(9):
        deep = deep / f"deep{number}"
    deep.mkdir(parents=True)
    write_chats(deep / "chats.jsonl")
    there = find(project)
    assert len(there.items) == 6
    assert [note for note in there.notes if "deeper than 6 folders" in note]


def test_other_files_are_not_taken_for_conversations(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    write_chats(folder / "chats.jsonl")
    (folder / "package.json").write_text('{"name": "x", "messages": []}', "utf-8")
    (folder / "table.csv").write_text("a,b\n1,2\n", "utf-8")
    (folder / "notes.txt").write_text("Some notes.\nNothing else.\n", "utf-8")
    (folder / "empty.jsonl").touch()
    (folder / "numbers.json").write_text("[1, 2]", "utf-8")
    there = find(folder)
    assert kinds(there) == {"chats.jsonl": "corpus"}
    unread = {one.name: one for one in there.unread}
    assert set(unread) == {"table.csv", "notes.txt", "empty.jsonl", "numbers.json"}
    assert "Columns: a, b." in unread["table.csv"].why
    assert "--column text=NAME" in (unread["table.csv"].command or "")
    assert unread["empty.jsonl"].why == "empty.jsonl is empty: there is no conversation in it."
    assert unread["empty.jsonl"].command is None


def write_whatsapp(path: Path) -> None:
    lines = [("Ann", "hello there"), ("Bob", "hi, how are you"), ("Ann", "fine, thanks")]
    said = [f"[01/02/2024, 10:0{at}:00] {who}: {text}" for at, (who, text) in enumerate(lines)]
    path.write_text("\n".join(said) + "\n", "utf-8")


def test_a_file_that_needs_options_is_told_with_the_command_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_whatsapp(tmp_path / "chat.txt")
    with pytest.raises(DialensError, match="does not say who the agent is") as refused:
        find(tmp_path)
    assert "nothing of dialens" not in str(refused.value)
    assert "dialens convert chat.txt corpus --role agent=Ann" in str(refused.value)
    write_chats(tmp_path / "chats.jsonl")
    (unread,) = find(tmp_path).unread
    assert unread.command == "dialens convert chat.txt corpus --role agent=Ann"
    dialens(tmp_path, *unread.command.split()[1:])
    there = find(tmp_path)
    assert states(there) == {"chats.jsonl": "current", "corpus": "current"}
    assert there.unread == ()
    assert there.get("corpus").sources[0].path == tmp_path / "chat.txt"
    assert sentence(there) == "17 conversations in 2 corpora. Nothing is stale."


def test_the_command_of_a_corpus_holds_the_options_that_it_was_read_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_whatsapp(tmp_path / "chat.txt")
    dialens(tmp_path, "convert", "chat.txt", "corpus", "--role", "agent=Ann", "--system", "my app")
    with (tmp_path / "chat.txt").open("a", encoding="utf-8") as file:
        file.write("[01/02/2024, 10:09:00] Bob: good\n")
    stale = find(tmp_path).get("corpus")
    assert stale.state == "stale"
    options = "--system 'my app' --role agent=Ann"
    assert stale.command == f"dialens convert chat.txt corpus {options}"
    dialens(tmp_path, *shlex.split(stale.command)[1:])
    assert find(tmp_path).get("corpus").state == "current"


def test_what_was_scored_with_options_is_no_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_whatsapp(tmp_path / "chat.txt")
    options = ("--models", "none", "--no-cache", "-m", "length", "--role", "agent=Ann")
    dialens(tmp_path, "score", "chat.txt", "-o", "out", *options)
    there = find(tmp_path)
    assert states(there) == {"chat.txt": "current", "out": "current"}
    assert there.unread == ()
    assert there.get("chat.txt").title == "1 conversation of 1 agent, 3 turns"
    assert "--role agent=Ann" in (there.get("out").command or "")


def test_tables_that_are_cut_off_are_damaged(project: Path) -> None:
    for name in ("out/scores.parquet", "out/dialogs.parquet", "corpus/turns.parquet"):
        path = project / name
        path.write_bytes(path.read_bytes()[:-20])
    (project / "out" / "metrics.json").unlink()
    there = find(project)
    assert there.get("out").state == "damaged"
    why = "metrics.json is missing; scores.parquet and dialogs.parquet are cut off."
    assert there.get("out").why == why
    assert there.get("corpus").why == "turns.parquet is cut off."
    assert there.get("out/comparison").state == "stale"


def test_conversations_that_end_in_the_middle_are_damaged(tmp_path: Path) -> None:
    write_chats(tmp_path / "chats.jsonl")
    with (tmp_path / "chats.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"messages": [{"role": "us')
    (item,) = find(tmp_path).items
    assert (item.state, "line 17" in item.why) == ("damaged", True)


def test_names_are_unique_whatever_folders_are_called(project: Path, tmp_path: Path) -> None:
    inner = tmp_path / "out"
    (project / "out").rename(inner)
    dialens(inner, "score", str(project / "chats.jsonl"), "-o", "out", "--models", "none")
    names = [item.name for item in find(inner).items]
    assert len(set(names)) == len(names)
    assert {"out", "out (2)"} <= set(names)


def test_nothing_there_says_what_was_looked_for_and_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match=r"run\.json.*dialens score.*dialens demo"):
        find(tmp_path)
    with pytest.raises(DialensError, match="does not exist"):
        find(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(DialensError, match="is a file, not a folder"):
        find(tmp_path / "file")


def test_looking_changes_nothing(project: Path, studies: Path) -> None:
    for folder in (project, studies):
        before = print_of(folder)
        assert find(folder) == find(folder)
        assert print_of(folder) == before


def test_a_name_that_is_not_there_is_told_with_the_nearest(project: Path) -> None:
    with pytest.raises(DialensError, match="Did you mean compared"):
        find(project).get("compare")


def test_every_kind_has_words() -> None:
    assert tuple(KIND_WORDS) != ()
    assert set(KIND_WORDS) == set(KINDS)
