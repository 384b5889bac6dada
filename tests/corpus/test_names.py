"""What agents, systems and dialogues are called, and several inputs at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialens import DialensError
from dialens.corpus import Corpus, Intake, ReadOptions, agent_labels, convert, read


def chat(*texts: str, **names: object) -> dict[str, object]:
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return {**names, "messages": messages}


def write(path: Path, *chats: dict[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in chats))
    return path


def cases(path: Path, reply: str, n: int = 3, **names: object) -> Path:
    return write(path, *(chat(f"Question {i}?", reply, id=f"case-{i}", **names) for i in range(n)))


def names(corpus: Corpus) -> list[tuple[str, str, str]]:
    return sorted(corpus.turns.select("system", "agent", "dialog").unique().collect().rows())


def test_an_agent_is_called_by_its_model_else_by_its_file(tmp_path: Path) -> None:
    path = write(tmp_path / "logs.jsonl", chat("Hi", "Hey", model="gpt"), chat("Hi", "Yes?"))
    assert names(read(path)) == [("logs", "gpt", "logs-1"), ("logs", "logs", "logs-2")]


def test_own_names_come_before_the_source(tmp_path: Path) -> None:
    path = write(tmp_path / "logs.jsonl", chat("Hi", "Hey", model="gpt"), chat("Hi", "Yes?"))
    both = read(path, options=ReadOptions(system="support", agent="ada"))
    assert {row[:2] for row in names(both)} == {("support", "ada")}
    only_system = read(path, options=ReadOptions(system="support"))
    assert {row[:2] for row in names(only_system)} == {("support", "gpt"), ("support", "support")}


def test_own_names_hold_for_a_corpus_folder_too(tmp_path: Path) -> None:
    convert(cases(tmp_path / "v1.jsonl", "Yes."), tmp_path / "corpus")
    renamed = read(tmp_path / "corpus", options=ReadOptions(agent="ada"))
    assert {row[:2] for row in names(renamed)} == {("v1", "ada")}


@pytest.mark.parametrize("folders", [("",), ("2025-01", "2025-02")])
def test_a_folder_with_a_file_a_chat_is_one_system(tmp_path: Path, folders: tuple[str]) -> None:
    for folder in folders:
        for number in range(4):
            path = tmp_path / "perchat" / folder / f"chat_{number}.json"
            write(path, chat("Hi", f"Hello {number}"))
    intake = Intake()
    corpus = read(tmp_path / "perchat", intake=intake)
    assert {row[:2] for row in names(corpus)} == {("perchat", "perchat")}
    assert len(names(corpus)) == 4 * len(folders)
    assert len(intake.notes) == 1
    assert "one system: perchat" in intake.notes[0]


def test_a_file_a_chat_of_several_models_are_several_agents_of_one_system(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.json", chat("Hi", "Hey", model="m1"))
    write(tmp_path / "logs" / "b.json", chat("Hi", "Hey", model="m2"))
    assert [row[:2] for row in names(read(tmp_path / "logs"))] == [("logs", "m1"), ("logs", "m2")]


def test_files_of_many_conversations_stay_systems(tmp_path: Path) -> None:
    cases(tmp_path / "ci" / "v1.jsonl", "Yes.")
    cases(tmp_path / "ci" / "v2.jsonl", "No.")
    intake = Intake()
    assert names(read(tmp_path / "ci", intake=intake)) == [
        ("v1", "v1", "case-0"),
        ("v1", "v1", "case-1"),
        ("v1", "v1", "case-2"),
        ("v2", "v2", "v2/case-0"),
        ("v2", "v2", "v2/case-1"),
        ("v2", "v2", "v2/case-2"),
    ]
    assert intake.notes == [
        "3 conversations had an id that an earlier file uses; they are named after their file: "
        "v2/case-0."
    ]


def test_one_long_file_makes_all_files_systems(tmp_path: Path) -> None:
    cases(tmp_path / "ci" / "v1.jsonl", "Yes.", n=1)
    cases(tmp_path / "ci" / "v2.jsonl", "No.", n=2)
    assert {row[0] for row in names(read(tmp_path / "ci"))} == {"v1", "v2"}


def test_two_runs_of_one_case_stay_two_systems(tmp_path: Path) -> None:
    cases(tmp_path / "ci" / "v1.jsonl", "Yes.", n=1)
    cases(tmp_path / "ci" / "v2.jsonl", "No.", n=1)
    assert {row[0] for row in names(read(tmp_path / "ci"))} == {"v1", "v2"}


def test_files_that_name_their_system_are_not_renamed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(
            tmp_path / "logs" / f"{name}.json", chat("Hi", "Hey", metadata={"system": f"s-{name}"})
        )
    assert {row[0] for row in names(read(tmp_path / "logs"))} == {"s-a", "s-b"}


def test_several_inputs_with_the_same_ids_and_names(tmp_path: Path) -> None:
    a = cases(tmp_path / "a" / "chats.jsonl", "Yes.", n=2)
    b = cases(tmp_path / "b" / "chats.jsonl", "No.", n=2)
    write(tmp_path / "folder" / "one.json", chat("Hi", "Hey"))
    write(tmp_path / "folder" / "two.json", chat("Hi", "Yes?"))
    corpus = read(a, b, tmp_path / "folder")
    assert names(corpus) == [
        ("a/chats", "a/chats", "case-0"),
        ("a/chats", "a/chats", "case-1"),
        ("b/chats", "b/chats", "b/chats/case-0"),
        ("b/chats", "b/chats", "b/chats/case-1"),
        ("folder", "folder", "one-1"),
        ("folder", "folder", "two-1"),
    ]
    replies = corpus.turns.filter(role="agent").select("system", "text").unique().collect()
    assert {("a/chats", "Yes."), ("b/chats", "No.")} <= set(replies.rows())
    assert [entry["name"] for entry in corpus.manifest["source"]["inputs"]] == [
        "chats.jsonl",
        "chats.jsonl",
        "folder",
    ]


def test_ratings_and_references_follow_the_dialogues_of_their_file(tmp_path: Path) -> None:
    for name, value in (("v1", 1), ("v2", 5)):
        (tmp_path / f"{name}.csv").write_text(
            "dialog,role,text\n" + "".join(f"d{i},user,Hi\nd{i},agent,{name}\n" for i in range(2))
        )
        (tmp_path / f"{name}.ratings.csv").write_text(
            f"dialog,turn,level,quality,value\nd0,1,turn,good,{value}\nd1,1,turn,good,{value}\n"
        )
        (tmp_path / f"{name}.references.csv").write_text(f"dialog,turn,text\nd1,1,better {name}\n")
    corpus = read(tmp_path)
    rated = corpus.turns.join(corpus.ratings, on=["dialog", "turn"]).select("text", "value")
    assert set(rated.collect().rows()) == {("v1", 1.0), ("v2", 5.0)}
    better = corpus.turns.join(corpus.references, on=["dialog", "turn"]).collect()
    assert set(better.select("text", "text_right").rows()) == {
        ("v1", "better v1"),
        ("v2", "better v2"),
    }


def test_an_id_twice_in_one_file_is_still_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "v1.jsonl", chat("Hi", "Hey", id="d"), chat("Hi", "Hey", id="d"))
    with pytest.raises(DialensError, match=r"line 2: field `dialog` is a duplicate.*line 1"):
        read(path)


def test_the_same_input_twice_is_refused(tmp_path: Path) -> None:
    path = cases(tmp_path / "v1.jsonl", "Yes.")
    with pytest.raises(DialensError, match="named twice"):
        read(path, tmp_path / "." / "v1.jsonl")


def test_labels_of_agents_are_unique_and_short() -> None:
    agents = [("v1", "gpt"), ("v2", "gpt"), ("v3", "v3"), ("v3", "gpt")]
    labels = agent_labels(agents)
    assert labels == ["v1 / gpt", "v2 / gpt", "v3", "v3 / gpt"]
