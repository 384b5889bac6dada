"""What is particular to each format: its ratings, references, agents, and what is kept in meta."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Corpus, Intake, OnError, convert, read
from tests.corpus.samples import TALKS, TEXT_SAMPLES, Sample, array_of, lines_of

SAMPLE: dict[str, Sample] = {sample.name: sample for sample in TEXT_SAMPLES}


def given(corpus: Corpus, *columns: str) -> list[tuple[object, ...]]:
    return corpus.ratings.select(columns).collect().rows()


def told(corpus: Corpus, *columns: str) -> list[tuple[object, ...]]:
    return corpus.turns.select(columns).collect().rows()


def metas(corpus: Corpus) -> list[dict[str, Any] | None]:
    return [json.loads(m) if m else None for m in corpus.turns.collect()["meta"]]


# --- OpenAI and its kin


REQUEST = {
    "id": "chat-1",
    "model": "bot-1",
    "system": "You are terse.\nYou are kind.",
    "tools": [{"type": "function", "function": {"name": "look"}}],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What"}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a dog"},
        {"role": "assistant", "content": "A dog.", "weight": 1},
        {"role": "user", "content": "Whose?", "name": "Ann"},
        {"role": "assistant", "content": None, "refusal": "I cannot say."},
        {"role": "developer", "content": "stop here"},
    ],
}


def test_openai_keeps_what_is_no_turn_and_its_writer_puts_it_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines_of([REQUEST]))
    corpus = read(path)
    assert told(corpus, "dialog", "agent", "speaker", "role", "text") == [
        ("chat-1", "bot-1", "user", "partner", "What"),
        ("chat-1", "bot-1", "assistant", "agent", "A dog."),
        ("chat-1", "bot-1", "Ann", "partner", "Whose?"),
        ("chat-1", "bot-1", "assistant", "agent", "I cannot say."),
    ]
    assert corpus.turns.collect()["system"].unique().to_list() == ["log"]
    summary = convert(path, tmp_path / "again.jsonl")
    assert summary.left_out == []
    again = json.loads((tmp_path / "again.jsonl").read_text())
    assert again.pop("metadata") == {"system": "log"}
    assert again == REQUEST
    third = convert(tmp_path / "again.jsonl", tmp_path / "third.jsonl")
    assert third.turns == 4
    assert (tmp_path / "third.jsonl").read_text() == (tmp_path / "again.jsonl").read_text()


@pytest.mark.parametrize(
    ("labels", "system"),
    [
        ({"id": "1", "model": "m", "system": "shop"}, "shop"),
        ({"system": "Be nice."}, "log"),
        ({"id": "1", "model": "m", "system": "Be nice.\nAlways."}, "log"),
        ({"metadata": {"system": "shop", "user": "7"}}, "shop"),
    ],
)
def test_openai_system_may_be_a_name_or_a_prompt(
    labels: dict[str, Any], system: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines_of([{**labels, "messages": [{"role": "assistant", "content": "x"}]}]))
    corpus = read(path)
    assert told(corpus, "system") == [(system,)]
    kept = (metas(corpus)[0] or {}).get("record", {})
    assert isinstance(kept, dict)
    assert ("system" in kept) == (system == "log")


def test_openai_reads_released_chat_logs(tmp_path: Path) -> None:
    path = tmp_path / "lmsys.jsonl"
    record = {
        "conversation_id": "abc",
        "model": "vicuna-13b",
        "conversation": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
        "language": "English",
    }
    path.write_bytes(lines_of([record]))
    assert told(read(path), "dialog", "agent", "text") == [
        ("abc", "vicuna-13b", "hi"),
        ("abc", "vicuna-13b", "yo"),
    ]


def test_sharegpt_keeps_prompts_and_tool_calls(tmp_path: Path) -> None:
    path = tmp_path / "share.json"
    record = {
        "id": "s1",
        "system": "Be brief.",
        "conversations": [
            {"from": "system", "value": "Be kind."},
            {"from": "human", "value": "weather?"},
            {"from": "function_call", "value": "{}"},
            {"from": "observation", "value": "sun"},
            {"from": "gpt", "value": "Sunny."},
        ],
    }
    path.write_bytes(array_of([record]))
    corpus = read(path)
    assert told(corpus, "role", "text") == [("partner", "weather?"), ("agent", "Sunny.")]
    first, second = metas(corpus)
    assert first == {
        "before": [{"role": "system", "content": "Be kind."}],
        "record": {"system": "Be brief."},
    }
    assert second is not None
    assert [kept["role"] for kept in second["before"]] == ["function_call", "observation"]


# --- judged sets


def test_dstc10_turns(tmp_path: Path) -> None:
    corpus = read(SAMPLE["dstc10-turn"].build(tmp_path)[0])
    rows = given(corpus, "study", "level", "agent", "dialog", "turn", "quality", "value")
    assert rows[:3] == [
        ("talks", "turn", "bot", "d1", 1, "overall", 3.0),
        ("talks", "turn", "bot", "d1", 1, "overall", 4.0),
        ("talks", "turn", "bot", "d1", 1, "relevance", 2.5),
    ]
    assert corpus.references.collect().rows()[1] == ("d2", 3, "Maybe.")
    assert told(corpus, "speaker")[2:6] == [("A",), ("B",), ("A",), ("bot",)]


def test_dstc10_dialogs_and_sets_without_annotations(tmp_path: Path) -> None:
    corpus = read(SAMPLE["dstc10-dialog"].build(tmp_path)[0])
    assert given(corpus, "level", "dialog", "turn", "quality", "value")[:2] == [
        ("dialog", "d1", None, "Overall", 3.0),
        ("dialog", "d1", None, "Overall", 4.0),
    ]
    test_set = tmp_path / "jsalt_eval.json"
    test_set.write_bytes(
        array_of([{"dialogue_id": "t-1", "context": "a\nb", "response": "c", "reference": "r"}])
    )
    bare = read(test_set)
    assert bare.ratings.collect().height == 0
    assert told(bare, "system", "agent", "role") == [
        ("jsalt", "jsalt_eval", "partner"),
        ("jsalt", "jsalt_eval", "partner"),
        ("jsalt", "jsalt_eval", "agent"),
    ]


def test_fed_turns_dialogues_and_answers_that_do_not_apply(tmp_path: Path) -> None:
    turn = {
        "context": "User: Hi!\nSystem: Hi: what's up?\nUser: Not much",
        "response": "System: Fine.",
        "system": "Meena",
        "annotations": {"Fluent": [2, 1], "Overall": [3, "N/A (cannot tell)"]},
    }
    whole = {
        "context": "User: Hi!\nSystem: Hi.\nstill me\nUser: Bye",
        "system": "Human",
        "annotations": {"Error recovery": ["N/A (no errors)", 1], "Consistent": [1, 0]},
    }
    path = tmp_path / "fed_data.json"
    path.write_bytes(array_of([turn, whole]))
    corpus = read(path)
    assert given(corpus, "level", "agent", "turn", "quality", "value", "scale") == [
        ("turn", "Meena", 3, "Fluent", 2.0, "[0,2]"),
        ("turn", "Meena", 3, "Fluent", 1.0, "[0,2]"),
        ("turn", "Meena", 3, "Overall", 3.0, "[0,4]"),
        ("dialog", "Human", None, "Error recovery", 1.0, "[0,2]"),
        ("dialog", "Human", None, "Consistent", 1.0, "[0,1]"),
        ("dialog", "Human", None, "Consistent", 0.0, "[0,1]"),
    ]
    assert told(corpus, "dialog", "role", "text") == [
        ("fed_data-1", "partner", "Hi!"),
        ("fed_data-1", "partner", "Hi: what's up?"),
        ("fed_data-1", "partner", "Not much"),
        ("fed_data-1", "agent", "Fine."),
        ("fed_data-2", "partner", "Hi!"),
        ("fed_data-2", "agent", "Hi.\nstill me"),
        ("fed_data-2", "partner", "Bye"),
    ]


def test_a_score_that_is_a_word_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "fed_data.json"
    entry = {"context": "User: a", "response": "b", "system": "x"}
    path.write_bytes(array_of([{**entry, "annotations": {"Fluent": [1, "good"]}}]))
    with pytest.raises(
        DialensError, match=r"`annotations.Fluent\[1\]` is not a number; seen: good"
    ):
        read(path)


def test_usr_one_dialogue_a_response(tmp_path: Path) -> None:
    entry = {
        "context": "hi\nhello\n",
        "fact": "your persona: i like dogs.\n",
        "annotators": ["r1", "r2"],
        "responses": [
            {"response": "bye\n", "model": "Original Ground Truth", "Overall": [5, 4]},
            {"response": "what\n", "model": "Seq2Seq", "Overall": [1, 2], "Natural": [3, 3]},
        ],
    }
    path = tmp_path / "pc_usr_data.json"
    path.write_bytes(array_of([entry]))
    corpus = read(path)
    assert given(corpus, "agent", "dialog", "rater", "turn", "quality", "value", "scale") == [
        ("Original Ground Truth", "pc_usr_data-1-1", "r1", 2, "Overall", 5.0, "[1,5]"),
        ("Original Ground Truth", "pc_usr_data-1-1", "r2", 2, "Overall", 4.0, "[1,5]"),
        ("Seq2Seq", "pc_usr_data-1-2", "r1", 2, "Overall", 1.0, "[1,5]"),
        ("Seq2Seq", "pc_usr_data-1-2", "r2", 2, "Overall", 2.0, "[1,5]"),
        ("Seq2Seq", "pc_usr_data-1-2", "r1", 2, "Natural", 3.0, "[1,3]"),
        ("Seq2Seq", "pc_usr_data-1-2", "r2", 2, "Natural", 3.0, "[1,3]"),
    ]
    assert corpus.references.collect().rows() == [("pc_usr_data-1-2", 2, "bye")]
    assert metas(corpus)[2] == {"context": "pc_usr_data-1", "fact": "your persona: i like dogs."}


def test_arena_is_a_preference_on_each_side(tmp_path: Path) -> None:
    corpus = read(SAMPLE["arena"].build(tmp_path)[0])
    columns = ("level", "agent", "dialog", "quality", "value", "rater", "rater_kind", "condition")
    assert given(corpus, *columns)[:2] == [
        ("dialog", "bot-1", "d1-a", "preference", 0.0, "arena_user_1", "human", "d1"),
        ("dialog", "bot-2", "d1-b", "preference", 1.0, "arena_user_1", "human", "d1"),
    ]
    row = corpus.ratings.collect().row(0, named=True)
    assert json.loads(row["factors"]) == {"side": "a", "against": "bot-2", "verdict": "model_b"}
    assert row["answered_at"].isoformat() == "2023-04-24T15:53:11.500000+00:00"


@pytest.mark.parametrize(
    ("verdict", "values"),
    [("model_a", [1, 0]), ("tie", [0.5, 0.5]), ("tie (bothbad)", [0.5, 0.5]), (None, [])],
)
def test_arena_verdicts_and_repeated_questions(
    verdict: str | None, values: list[float], tmp_path: Path
) -> None:
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    battle = {
        "question_id": 81,
        "model_a": "x",
        "model_b": "y",
        "winner": verdict,
        "judge": ["gpt-4", "pair-v2"],
        "conversation_a": said,
        "conversation_b": said,
    }
    path = tmp_path / "mt.jsonl"
    path.write_bytes(lines_of([battle, battle]))
    corpus = read(path)
    assert corpus.turns.collect()["dialog"].n_unique() == 4
    assert corpus.ratings.collect()["value"].to_list() == values * 2
    assert corpus.ratings.collect()["rater_kind"].unique().to_list() == (["llm"] if values else [])
    battle["winner"] = "nobody"
    path.write_bytes(lines_of([battle]))
    with pytest.raises(DialensError, match="`winner` is not a verdict; seen: nobody"):
        read(path)


def test_rated_units_without_a_transcript_keep_their_ratings(tmp_path: Path) -> None:
    unit = {"dataset": "d", "unit_id": "u", "level": "dialog", "system": "bot", "context": []}
    path = tmp_path / "units.jsonl"
    path.write_bytes(lines_of([{**unit, "ratings": {"kind": [1]}}]))
    corpus = read(path)
    assert told(corpus, "speaker", "role", "text") == [("bot", "agent", "")]
    assert given(corpus, "dialog", "level", "turn") == [("u", "dialog", None)]


# --- ParlAI, ConvoKit


def test_parlai_keeps_acts_context_and_metadata(tmp_path: Path) -> None:
    record = {
        "dialog": [
            [
                {"id": "human_evaluator", "text": "hi", "episode_done": False},
                {"id": "TransformerGenerator_bot", "text": "hello"},
            ]
        ],
        "context": [{"id": "context", "text": "your persona: i ski"}],
    }
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines_of([record]))
    (tmp_path / "chat.metadata").write_text(
        json.dumps({"date": "today", "self_chat": False, "opt": {"task": "c", "big": "x"}})
    )
    corpus = read(path)
    assert told(corpus, "agent", "role") == [
        ("TransformerGenerator_bot", "partner"),
        ("TransformerGenerator_bot", "agent"),
    ]
    assert metas(corpus)[0] == {
        "act": {"episode_done": False},
        "record": {
            "context": [{"id": "context", "text": "your persona: i ski"}],
            "metadata": {"date": "today", "self_chat": False, "task": "c"},
        },
    }


def test_parlai_acts_without_exchanges(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    acts = [{"id": "HUMAN_1", "text": "hi"}, {"id": "blender", "text": "hello"}]
    path.write_bytes(lines_of([{"dialog": acts}]))
    assert told(read(path), "agent", "role") == [("blender", "partner"), ("blender", "agent")]


def test_convokit_threads_times_and_metadata(tmp_path: Path) -> None:
    corpus = read(SAMPLE["convokit"].build(tmp_path)[0])
    turns = corpus.turns.collect()
    assert turns["agent"].unique().to_list() == ["helpbot"]
    assert turns["reply_to"].to_list()[:3] == [None, "d1", None]
    assert turns["created_at"][0].isoformat() == "2023-04-24T15:53:11+00:00"
    assert metas(corpus)[:2] == [
        {"utterance_id": "d1", "mood": "fine", "conversation": {"title": "Greetings"}},
        {"utterance_id": "d1.1", "mood": "fine"},
    ]


def test_convokit_of_old_in_one_array_sorted_by_time(tmp_path: Path) -> None:
    old = [
        {"id": "b", "user": "Eve", "root": "a", "reply-to": "a", "timestamp": "20", "text": "two"},
        {"id": "a", "user": "Bob", "root": "a", "reply-to": None, "timestamp": "10", "text": "one"},
    ]
    (tmp_path / "utterances.json").write_text(json.dumps(old))
    (tmp_path / "users.json").write_text("{}")
    corpus = read(tmp_path)
    assert told(corpus, "text", "speaker", "agent", "reply_to") == [
        ("one", "Bob", tmp_path.name, None),
        ("two", "Eve", tmp_path.name, "a"),
    ]
    (tmp_path / "utterances.json").write_text(json.dumps([*old, {**old[0], "text": 3}]))
    with pytest.raises(DialensError, match=r"utterances\.json, record 3: field `text`"):
        read(tmp_path)


# --- tables


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_csv_fills_what_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "Dialog,Speaker,Text,mood\nd,Ann,hi,ok\nd,SupportBot,,\n")
    corpus = read(path)
    columns = ("system", "agent", "dialog", "turn", "speaker", "role", "text")
    assert told(corpus, *columns) == [
        ("t", "SupportBot", "d", 0, "Ann", "partner", "hi"),
        ("t", "SupportBot", "d", 1, "SupportBot", "agent", ""),
    ]
    assert metas(corpus)[0] == {"mood": "ok"}


def test_csv_rows_of_a_dialog_may_stand_anywhere(tmp_path: Path) -> None:
    text = "dialog,turn,role,text\nb,1,agent,b1\na,0,user,a0\nb,0,user,b0\na,1,assistant,a1\n"
    assert told(read(write(tmp_path / "t.csv", text)), "dialog", "turn", "role", "text") == [
        ("b", 0, "partner", "b0"),
        ("b", 1, "agent", "b1"),
        ("a", 0, "partner", "a0"),
        ("a", 1, "agent", "a1"),
    ]


def test_csv_agent_may_stand_on_its_own_rows_only(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "dialog,role,text,agent\nd,user,hi,\nd,agent,yo,bot-2\n")
    assert told(read(path), "agent") == [("bot-2",), ("bot-2",)]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("dialog,role,text,role\nd,user,hi,user\n", 1, "`role` stands twice"),
        ("dialog,role,text,agent\nd,user,hi,a\nd,agent,ho,b\n", 3, "`agent` changes.*b after a"),
        ("dialog,role,text,system\nd,user,hi,a\nd,agent,ho,b\n", 3, "`system` changes"),
        ("dialog,turn,role,text\nd,0,user,a\nd,0,agent,b\n", 3, "`turn` is out of sequence"),
        ("dialog,turn,role,text\nd,1,user,a\nd,2,agent,b\n", 2, "1 where 0 was expected"),
        ("dialog,turn,role,text\nd,0,user,a\nd,,agent,b\n", 3, "`turn` is out of sequence"),
        ("dialog,turn,role,text\nd,1.5,user,a\n", 2, "`turn` is not a whole number; seen: 1.5"),
        ("dialog,role,text\n,user,a\n", 2, "`dialog` is missing"),
        (
            "dialog,role,text,created_at\nd,user,a,noon\n",
            2,
            "`created_at` is not a time; seen: noon",
        ),
        ("dialog,role,text,meta\nd,user,a,[1]\n", 2, "`meta` is not a JSON object"),
        ('dialog,role,text\nd,user,"a"b\n', 2, "cannot be taken apart"),
        ('dialog,role,text\nd,user,"a\nb\n', 2, "cannot be taken apart"),
    ],
)
def test_csv_faults(text: str, line: int, said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", text)
    with pytest.raises(DialensError, match=rf"^{path}, line {line}: .*{said}"):
        read(path, format="csv")


def test_csv_times_in_several_forms(tmp_path: Path) -> None:
    forms = ["2024-05-01", "2024-05-01 10:30", "2024-05-01T10:30:00Z", "2024-05-01T12:30:00+02:00"]
    rows = "".join(f"d,user,x,{form}\n" for form in forms)
    path = write(tmp_path / "t.csv", "dialog,role,text,created_at\n" + rows)
    seen = [moment.isoformat() for moment in read(path).turns.collect()["created_at"]]
    assert seen == ["2024-05-01T00:00:00+00:00", *["2024-05-01T10:30:00+00:00"] * 3]


def test_csv_semicolons_and_multiline_cells_keep_line_numbers(tmp_path: Path) -> None:
    text = 'dialog;role;text\nd;user;"two\n\nlines"\nd;boss;x\n'
    with pytest.raises(DialensError, match="line 5: field `role`"):
        read(write(tmp_path / "t.csv", text))


def test_csv_ratings_beside_must_be_of_its_dialogs(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "dialog,role,text\nd,user,hi\n")
    beside = tmp_path / "t.ratings.csv"
    write(beside, "dialog,level,quality,value\nd,dialog,fun,4\ne,dialog,fun,4\nd,dialog,fun,x\n")
    with pytest.raises(
        DialensError, match=rf"{beside}, line 3: field `dialog` is not in the turns"
    ):
        read(path)
    intake = Intake(OnError.SKIP)
    assert given(read(path, intake=intake), "dialog", "value") == [("d", 4.0)]
    assert [(reject.line, reject.field) for reject in intake.rejects] == [
        (3, "dialog"),
        (4, "value"),
    ]


def test_large_tables_are_spooled_and_sorted_in_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    from dialens.corpus import _tabular as tabular

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(tabular, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(tabular, "_SHARE", 7)
    rows = [f"d{n % 10},{n // 10},{'agent' if n // 10 % 2 else 'user'},t{n}\n" for n in range(50)]
    path = write(tmp_path / "t.csv", "dialog,turn,role,text\n" + "".join(rows))
    turns = read(path).turns.collect()
    assert turns.height == 50
    assert turns["turn"].to_list() == [0, 1, 2, 3, 4] * 10
    assert turns["dialog"].n_unique() == 10
    assert list(scratch.iterdir()) == []


def test_parquet_with_other_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"dialog": [7, 7], "speaker": ["a", "b"], "text": ["x", "y"]})
    frame.with_columns(pl.lit({"k": 1}).alias("meta")).write_parquet(tmp_path / "t.parquet")
    corpus = read(tmp_path / "t.parquet")
    assert told(corpus, "dialog", "role", "text") == [("7", "partner", "x"), ("7", "agent", "y")]
    assert metas(corpus)[0] == {"k": 1}
    frame.with_columns(pl.lit(1).alias("text")).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DialensError, match="`text` is not text; seen: a column of type Int32"):
        read(tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(DialensError, match=r"t\.parquet is not a whole Parquet file"):
        read(tmp_path / "t.parquet")


# --- transcripts and folders


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("A: x\nB: y\n\nA: z\n", [("t-1", "x"), ("t-1", "y"), ("t-2", "z")]),
        ("A: x\n\nB: y\n\nA: z\n", [("t-1", "x"), ("t-1", "y"), ("t-1", "z")]),
        ("A: x\n\nB: y\n---\nA: z\n", [("t-1", "x"), ("t-1", "y"), ("t-2", "z")]),
        ("A: x\n  more: of it\nB:y\n", [("t-1", "x"), ("t-1", "of it"), ("t-1", "y")]),
        ("A: x\nmore of it\n", [("t-1", "x\nmore of it")]),
        ("A: see\nhttp://a.b\nB: ok\n", [("t-1", "see\nhttp://a.b"), ("t-1", "ok")]),
        ("**A:** x\n**B**: y\n", [("t-1", "x"), ("t-1", "y")]),
        ("A:\nB: y\n", [("t-1", ""), ("t-1", "y")]),
        ("## User\n\nx: 1\n\n- y\n\n## Bot\nz\n", [("t-1", "x: 1\n- y"), ("t-1", "z")]),
        (
            "# One\n### 🧑 **User:**\nx\n### 🤖 Bot\ny\n# Two\n### User\nz\n",
            [("t-1", "x"), ("t-1", "y"), ("t-2", "z")],
        ),
        (
            "# Ann\nx\n# Bob\n## Steps\ny\n# Ann\nz\n# Bob\nw\n",
            [("t-1", "x"), ("t-1", "## Steps\ny"), ("t-1", "z"), ("t-1", "w")],
        ),
    ],
)
def test_transcript_shapes(text: str, turns: list[tuple[str, str]], tmp_path: Path) -> None:
    assert told(read(write(tmp_path / "t.txt", text)), "dialog", "text") == turns


def test_a_document_with_headings_is_no_transcript(tmp_path: Path) -> None:
    text = "# Title\n\nWords.\n\n## Aims\n\nMore.\n\n## Methods\n\nMore.\n\n## Results\n\nEnd.\n"
    with pytest.raises(DialensError, match="no format that dialens recognises"):
        read(write(tmp_path / "t.md", text))


@pytest.mark.parametrize(
    ("speakers", "agent"),
    [
        (("Ann", "Bob"), "Bob"),
        (("Bot", "Ann"), "Bot"),
        (("Virtual Assistant", "Ann"), "Virtual Assistant"),
        (("Eliza", "Human"), "Eliza"),
        (("User", "Eliza"), "Eliza"),
        (("Abbot", "Ann"), "Ann"),
    ],
)
def test_transcript_agent(speakers: tuple[str, str], agent: str, tmp_path: Path) -> None:
    text = "".join(f"{name}: hello\n" for name in speakers)
    corpus = read(write(tmp_path / "t.txt", text))
    rows = told(corpus, "speaker", "role", "agent")
    assert [row for row in rows if row[1] == "agent"] == [(agent, "agent", agent)]


def test_transcript_times(tmp_path: Path) -> None:
    text = "[2024-05-01 10:30:05] Ann: hi\n[10:31] Bot: hello\n2024-05-01T10:32:00Z Ann: bye\n"
    turns = read(write(tmp_path / "t.txt", text)).turns.collect()
    moments = [moment and moment.isoformat() for moment in turns["created_at"]]
    assert moments == ["2024-05-01T10:30:05+00:00", None, "2024-05-01T10:32:00+00:00"]
    assert turns["meta"].to_list() == [None, '{"time":"10:31"}', None]


def test_a_folder_of_logs_names_conversations_by_their_files(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "b").mkdir(parents=True)
    write(logs / "a.txt", "User: hi\nBot: ho\n")
    write(logs / "b" / "a.txt", "User: one\nBot: two\n")
    SAMPLE["openai"].build(logs)
    SAMPLE["csv"].place(logs / "c", SAMPLE["csv"].encode((TALKS[0],)).replace(b"d1", b"x1"))
    write(logs / "c" / "talks.ratings.csv", "dialog,quality,value\nx1,fun,3\n")
    corpus = read(logs)
    first = corpus.turns.collect().unique("dialog", keep="first", maintain_order=True)
    assert first.select("dialog", "system").rows() == [
        ("a-1", "a"),
        ("b/a-1", "b/a"),
        ("x1", "c/talks"),
        ("d1", "talks"),
        ("d2", "talks"),
        ("d3", "talks"),
    ]
    assert given(corpus, "dialog", "value") == [("x1", 3.0)]


def test_a_folder_with_a_file_that_is_no_chat(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "User: hi\nBot: ho\n")
    write(tmp_path / "b.bin", "\x00\x01 nothing")
    with pytest.raises(DialensError, match=r"b\.bin is a binary file in no format"):
        read(tmp_path)
    intake = Intake(OnError.SKIP)
    assert read(tmp_path, intake=intake).turns.collect().height == 2
    assert intake.rejected == 1
    assert intake.rejects[0].file.endswith("b.bin")
    (tmp_path / "c").mkdir()
    with pytest.raises(DialensError, match="c holds no file with conversations"):
        read(tmp_path / "c")
