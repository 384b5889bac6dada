"""Items: from the study file, from files beside it, and from corpora."""

import json
from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Reference, Turn, batches, demo_path, write_corpus
from dialens.studies import TEA, Study, study_of
from dialens.studies._items import inline_item
from dialens.studies.design import ItemEntry
from dialens.studies.plan import plan


def with_items(folder: Path, **items: Any) -> Study:
    return study_of(TEA | {"factors": {}, "items": items}, folder)


def talk(agent: str, dialog: str, context: list[str], reply: str, *refs: str) -> Dialogue:
    turns = [Turn("U", "partner", text) for text in context] + [Turn(agent, "agent", reply)]
    references = [Reference(len(context), text) for text in refs]
    return Dialogue("s", agent, dialog, turns, references=references)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    dialogues = [
        talk("one", "d1", ["Hello?"], "Hi.", "Hello!", "Hey!"),
        talk("two", "d2", ["Hello?"], "Yo."),
        talk("one", "d3", ["Tea?", "Or coffee?"], "Tea."),
        talk("two", "d4", ["Tea?", "Or coffee?"], "Milk."),
        talk("gold", "d5", ["Hello?"], "Good day."),
    ]
    Corpus.of(dialogues)
    write_corpus(batches(dialogues), folder, source={"name": "test"})
    return folder


def test_dialogues_with_one_context_are_candidates_of_one_item(corpus: Path) -> None:
    study = with_items(corpus.parent, corpus="corpus", agents=["one", "two"])
    assert [[c.agent for c in item.candidates] for item in study.items] == [["one", "two"]] * 2
    first = study.items[0]
    assert [said.text for said in first.context] == ["Hello?"]
    assert [(c.system, c.dialog, c.turn, c.text) for c in first.candidates] == [
        ("s", "d1", 1, "Hi."),
        ("s", "d2", 1, "Yo."),
    ]


def test_the_standard_is_a_reference_or_an_agent(corpus: Path) -> None:
    referenced = with_items(corpus.parent, corpus="corpus", standard="reference")
    assert [item.standard for item in referenced.items] == ["Hello!", None]
    agent = with_items(corpus.parent, corpus="corpus", standard="gold")
    assert [item.standard for item in agent.items] == ["Good day.", None]
    assert "gold" not in {c.agent for item in agent.items for c in item.candidates}


def test_unknown_agents_are_named(corpus: Path) -> None:
    with pytest.raises(DialensError, match=r"no agent 'on'. Did you mean one"):
        with_items(corpus.parent, corpus="corpus", agents=["on"])
    with pytest.raises(DialensError, match=r"items\.standard"):
        with_items(corpus.parent, corpus="corpus", standard="gol")


def test_whole_dialogues_and_their_turns(corpus: Path) -> None:
    whole = with_items(Path(), corpus=str(demo_path()), unit="dialogue")
    assert {len(item.candidates) for item in whole.items} == {1}
    target = plan(whole, "all", 0)[2].fields[0].targets["1"]
    assert (target["level"], target["turn"]) == ("dialog", None)
    turns = with_items(Path(), corpus=str(demo_path()), unit="turn")
    item = turns.items[0]
    # the demo's assistants answer every second line, the first of them is line 1
    assert [c.turn for c in item.candidates] == list(range(1, 2 * len(item.candidates), 2))
    for candidate in item.candidates:
        assert len(candidate.before) == candidate.turn


def test_turns_are_judged_in_the_order_of_the_conversation() -> None:
    study = with_items(Path(), corpus=str(demo_path()), unit="turn")
    by_item: dict[str, list[int]] = {}
    for screen in plan(study, "all", 3):
        for field in screen.fields:
            if screen.kind == "rating" and field.quality == "coherence":
                by_item.setdefault(str(field.item), []).append(field.targets["1"]["turn"])
                positions = [target["position"] for target in field.targets.values()]
                assert positions == [len(by_item[str(field.item)]) - 1]
    assert all(turns == sorted(turns) for turns in by_item.values())
    assert sum(map(len, by_item.values())) == sum(len(i.candidates) for i in study.items)


def test_items_come_from_files(tmp_path: Path) -> None:
    entries = [{"id": f"x{n}", "context": "Hi?", "responses": {"a": "Yes."}} for n in range(3)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, entries)) + "\n\n")
    (tmp_path / "items.yaml").write_text(json.dumps(entries))  # JSON is YAML
    lines = with_items(tmp_path, file="items.jsonl")
    listed = with_items(tmp_path, file="items.yaml")
    assert lines.items == listed.items
    assert [item.id for item in lines.items] == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("i.jsonl", '{"id": "a", "responses": {"a": "x"}}\n{"id": 3', "jsonl:2: this is not JSON"),
        ("i.jsonl", '\n{"id": "a", "respnses": {}}', "i.jsonl:2: respnses: .* mean responses"),
        ("i.jsonl", "[1]", "i.jsonl:1: keys and values"),
        ("i.yaml", "- id: a\n  responses: {a: x}\n- id: b\n  contxt: x\n", "yaml:4: .* mean cont"),
        ("i.yaml", "id: a\n", "a list of items"),
        ("i.yaml", "[]", "no items"),
        ("i.yaml", "- {id: a, responses: {x: y}}\n- {id: a, responses: {x: y}}\n", "called 'a'"),
        ("i.yaml", "- {id: a, context: [x]}\n", "has no responses"),
    ],
)  # fmt: skip
def test_errors_in_items_name_file_and_line(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DialensError, match=said):
        with_items(tmp_path, file=name)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match=r"items.file: .*gone.yaml does not exist"):
        with_items(tmp_path, file="gone.yaml")


def test_speakers_have_names_or_alternate() -> None:
    entry = {"id": "a", "context": [{"user": "Hi?"}, {"bot": "Yes."}], "agent": "bot"}
    named = ItemEntry.model_validate(entry)
    item = inline_item(named, "turn", "s")
    assert [(c.turn, c.agent, c.before[0].speaker) for c in item.candidates] == [(1, "bot", "user")]
    entry = {"id": "a", "context": ["Hi?", "Yes.", "Oh."]}
    plain = inline_item(ItemEntry.model_validate(entry), "dialogue", "s")
    assert [said.speaker for said in plain.context] == ["A", "B", "A"]
    assert plain.candidates[0].agent == "B"
    with pytest.raises(DialensError, match=r"nobody is called 'bto'. Did you mean bot"):
        inline_item(named.model_copy(update={"agent": "bto"}), "turn", "s")


def test_pairs_of_three_responses_are_three_items() -> None:
    study = study_of(TEA | {"factors": {}, "qualities": {"better": {"instrument": "pairwise"}}})
    assert len(study.items) == 6 * 3
    assert all(len(item.candidates) == 2 for item in study.items)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"factors": {}, "qualities": {"q": {"instrument": "best_worst"}}, "two": True},
            "needs 3 responses",
        ),
        (
            {
                "factors": {},
                "qualities": {"q": {"instrument": "pairwise"}, "p": {"instrument": "likert"}},
            },
            "cannot share a screen",
        ),
        ({"factors": {"anchor": ["none", "textual"]}, "bare": True}, "no standard response"),
        ({"targets": {"anchor=bth": 3}}, "no cell 'anchor=bth'"),
        ({"targets": {"anchor=none,layout=together": 3}}, "has no target"),
        (
            {"factors": {"deadline": {"levels": list(range(5, 12)), "assign": "within"}}},
            "7 combinations of levels, but a participant sees 6 items",
        ),
    ],
)
def test_what_design_and_items_say_together_is_checked(changes: dict[str, Any], said: str) -> None:
    entries = [dict(entry) for entry in TEA["items"]["inline"]]
    if changes.pop("two", False):
        entries = [{**entry, "responses": {"a": "A.", "b": "B."}} for entry in entries]
    if changes.pop("bare", False):
        entries[2].pop("standard")
    with pytest.raises(DialensError, match=said):
        study_of(TEA | {"items": {"inline": entries}} | changes)


def test_more_than_there_is_cannot_be_sampled() -> None:
    with pytest.raises(DialensError, match="count is 7, but there are 6"):
        study_of(TEA | {"items": {**TEA["items"], "sample": {"count": 7}}})


@pytest.mark.shared
def test_a_published_set_becomes_a_study(shared_data: Path) -> None:
    """USR's PersonaChat: 60 contexts, five responses each (Mehri & Eskenazi 2020)."""
    path = shared_data / "human_judgements" / "usr_personachat.jsonl.gz"
    study = with_items(Path(), corpus=str(path))
    assert len(study.items) == 60
    assert {len(item.candidates) for item in study.items} == {5}


def test_items_may_say_where_they_come_from() -> None:
    origins = {
        "a": {"dialog": "d7", "turn": 3, "agent": "warm", "system": "s"},
        "b": {"dialog": "d8"},
    }
    entry = ItemEntry.model_validate(
        {
            "id": "i1",
            "context": ["Tea?"],
            "responses": {"a": "Yes.", "b": "No."},
            "origins": origins,
        }
    )
    found = [
        (c.key, c.agent, c.system, c.dialog, c.turn)
        for c in inline_item(entry, "response", "study").candidates
    ]
    assert found == [("a", "warm", "s", "d7", 3), ("b", "b", "study", "d8", 1)]
    whole = {"id": "i2", "agent": "bot", "context": [{"user": "Tea?"}, {"bot": "Yes."}]}
    of_bot = {"origins": {"bot": {"dialog": "d9", "agent": "warm"}}}
    for unit, turn in (("dialogue", None), ("turn", 1)):
        item = inline_item(ItemEntry.model_validate(whole | of_bot), unit, "study")
        assert [(c.agent, c.dialog, c.turn) for c in item.candidates] == [("warm", "d9", turn)]
    strange = {"origins": {"cat": {"dialog": "d9"}}}
    with pytest.raises(DialensError, match="origins of 'cat', which is no response"):
        inline_item(ItemEntry.model_validate(whole | strange), "dialogue", "study")
