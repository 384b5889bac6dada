"""Ratings as people lay them out and as other tools export them; what was taken is said."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics import load_ratings

CELLS = {("a", "r1"): 1.0, ("a", "r2"): 2.0, ("b", "r1"): 4.0, ("b", "r2"): 5.0}


def read(path: Path, text: str, **options: Any) -> tuple[pl.DataFrame, list[str]]:
    path.write_text(text, encoding="utf-8")
    said: list[str] = []
    return load_ratings(path, say=said.append, **options), said


def cells(table: pl.DataFrame, *names: str) -> dict[tuple[str, ...], float | None]:
    return {tuple(row[:-1]): row[-1] for row in table.select(*names, "value").iter_rows()}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("item,r1,r2\na,1,2\nb,4,5\n", {}),
        ("dialog;r1;r2\na;1,0;2,0\nb;4,0;5,0\n", {}),
        ("rater,a,b\nr1,1,4\nr2,2,5\n", {}),
        ("name,r1,r2\na,1,2\nb,4,5\n", {"columns": {"item": "name"}}),
        ("r1,r2\n1,2\n4,5\n", {"rows": True}),
        ("x,r1,r2\na,1,2\nb,4,5\n", {"format": "wide"}),
        ("x,a,b\nr1,1,4\nr2,2,5\n", {"format": "matrix"}),
        (",item1,item2\nr1,1,4\nr2,2,5\n", {"items": True}),
        (",rater1,rater2\na,1,2\nb,4,5\n", {"raters": True}),
    ],
)
def test_one_table_in_many_layouts(tmp_path: Path, text: str, options: dict[str, object]) -> None:
    rows, items, raters = (options.pop(name, False) for name in ("rows", "items", "raters"))
    table, said = read(tmp_path / "r.csv", text, **options)
    rename = {"1": "a", "2": "b"} if rows else {"item1": "a", "item2": "b"} if items else {}
    people = {"rater1": "r1", "rater2": "r2"} if raters else {}
    found = {
        (rename.get(i, i), people.get(r, r)): v
        for (i, r), v in cells(table, "dialog", "rater").items()
    }
    assert found == CELLS
    assert said[0].startswith("r.csv is taken as a row a")


@pytest.mark.parametrize(
    "header",
    [
        "rater1_fluency,rater1_tone,rater2_fluency,rater2_tone",
        "fluency_rater1,tone_rater1,fluency_rater2,tone_rater2",
        "fluency (rater1),tone (rater1),fluency (rater2),tone (rater2)",
    ],
)
def test_a_column_a_rater_and_quality(tmp_path: Path, header: str) -> None:
    table, said = read(tmp_path / "r.csv", f"item,agent,{header}\na,x,1,2,3,4\nb,y,5,6,7,8\n")
    found = cells(table, "dialog", "rater", "quality")
    assert found[("a", "rater1", "fluency")] == 1
    assert found[("b", "rater2", "tone")] == 8
    assert dict(table.select("dialog", "agent").unique().iter_rows()) == {"a": "x", "b": "y"}
    assert "2 raters; fluency and tone" in said[0]
    assert "agent beside them" in said[0]


def test_people_by_name_and_what_they_rated(tmp_path: Path) -> None:
    text = "item,anna_fluency,anna_tone,ben_fluency,ben_tone\na,1,2,3,4\nb,5,6,7,8\n"
    table, _ = read(tmp_path / "r.csv", text)
    assert cells(table, "dialog", "rater", "quality")[("b", "ben", "fluency")] == 7


def test_a_row_a_rater_and_item_with_a_column_a_quality(tmp_path: Path) -> None:
    text = "participant,item,agent,fluency,tone\nr1,a,x,1,2\nr2,a,x,3,4\n"
    table, said = read(tmp_path / "r.csv", text)
    assert cells(table, "rater", "dialog", "quality")[("r2", "a", "tone")] == 4
    assert "a column a quality (fluency and tone)" in said[0]


def test_wide_answers_may_be_labelled_or_words(tmp_path: Path) -> None:
    text = "item,rater1,rater2\na,1 - Not at all,7 - Very much\nb,3,4\n"
    assert read(tmp_path / "r.csv", text)[0]["value"].to_list() == [1, 7, 3, 4]
    text = "item,rater1,rater2\na,Often,Never\nb,Always,Often\n"
    scale = ["Never", "Rarely", "Sometimes", "Often", "Always"]
    table, _ = read(tmp_path / "r.csv", text, scales={"": scale})
    assert table["value"].to_list() == [4, 1, 5, 4]


def test_raters_may_give_categories(tmp_path: Path) -> None:
    table, _ = read(tmp_path / "r.csv", "item,rater1,rater2\na,joke,fact\nb,joke,joke\n")
    assert table["label"].to_list() == ["joke", "fact", "joke", "joke"]


@pytest.mark.parametrize(
    ("text", "paste"),
    [
        ("1,2,3\n4,5,6\n7,8,9\n", "--format wide.*--format matrix"),
        ("x1,x2\n1,2\n4,5\n", "--format wide.*--format matrix"),
        ("item,fluency,tone\na,1,2\nb,4,5\n", "--format wide.*--format qualities"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(tmp_path: Path, text: str, paste: str) -> None:
    with pytest.raises(DialensError, match=paste):
        read(tmp_path / "r.csv", text)


def test_numbers_without_names_are_read_as_told(tmp_path: Path) -> None:
    table, _ = read(tmp_path / "r.csv", "1,2,3\n4,5,6\n", format="matrix")
    assert cells(table, "rater", "dialog") == {
        ("1", "1"): 1, ("1", "2"): 2, ("1", "3"): 3, ("2", "1"): 4, ("2", "2"): 5, ("2", "3"): 6,
    }  # fmt: skip


QUALTRICS = (
    "StartDate,Status,Finished,ResponseId,DistributionChannel,{names},Age,PROLIFIC_PID\n"
    "Start Date,Response Type,Finished,Response ID,Distribution Channel,{texts},Your age,PID\n"
    '"{{""ImportId"":""startDate""}}","{{""ImportId"":""status""}}","{{""ImportId"":""f""}}",'
    '"{{""ImportId"":""_recordId""}}","{{""ImportId"":""d""}}",{ids},"{{""ImportId"":""QID9""}}",'
    '"{{""ImportId"":""PROLIFIC_PID""}}"\n'
    "2024-01-01,Survey Preview,True,R_0,preview,{preview},99,\n"
    "2024-01-02,IP Address,True,R_1,anonymous,{one},31,p1\n"
    "2024-01-02,IP Address,False,R_2,anonymous,{two},45,p2\n"
)


def qualtrics(names: str, texts: str, one: str, two: str) -> str:
    count = names.count(",") + 1
    ids = ",".join('"{""ImportId"":""QID""}"' for _ in range(count))
    preview = ",".join("5" for _ in range(count))
    return QUALTRICS.format(names=names, texts=texts, ids=ids, preview=preview, one=one, two=two)


def test_qualtrics_with_loop_and_merge(tmp_path: Path) -> None:
    text = qualtrics(
        "1_Q3,2_Q3,1_Q4,2_Q4",
        "How fluent?,How fluent?,How warm?,How warm?",
        "1 - Not at all,2,3,4",
        "5,6,7 - Very much,",
    )
    table, said = read(tmp_path / "s.csv", text)
    assert cells(table, "rater", "dialog", "quality") == {
        ("p1", "1", "How fluent?"): 1, ("p1", "2", "How fluent?"): 2,
        ("p1", "1", "How warm?"): 3, ("p1", "2", "How warm?"): 4,
        ("p2", "1", "How fluent?"): 5, ("p2", "2", "How fluent?"): 6,
        ("p2", "1", "How warm?"): 7, ("p2", "2", "How warm?"): None,
    }  # fmt: skip
    assert dict(table.select("rater", "Age").unique().iter_rows()) == {"p1": "31", "p2": "45"}
    assert "2 respondents (column PROLIFIC_PID), 2 items (each loop), 2 qualities" in said[0]
    assert any("1 row is a preview" in line for line in said)
    assert any("1 respondent did not finish" in line for line in said)


def test_qualtrics_with_a_matrix_question_an_item(tmp_path: Path) -> None:
    texts = "Chat 1 - Fluency,Chat 1 - Warmth,Chat 2 - Fluency,Chat 2 - Warmth"
    text = qualtrics("Q5_1,Q5_2,Q6_1,Q6_2", texts, "1,2,3,4", "5,6,7,8")
    table, _ = read(tmp_path / "s.csv", text)
    found = cells(table, "rater", "dialog", "quality")
    assert found[("p1", "Chat 2", "Warmth")] == 4
    assert found[("p2", "Chat 1", "Fluency")] == 5


def test_qualtrics_with_one_question_of_many_statements(tmp_path: Path) -> None:
    texts = "How good is it? - Chat 1,How good is it? - Chat 2"
    table, _ = read(tmp_path / "s.csv", qualtrics("Q5_1,Q5_2", texts, "1,2", "5,6"))
    assert cells(table, "rater", "dialog")[("p2", "Chat 2")] == 6
    assert table["quality"].unique().to_list() == ["How good is it?"]


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        ("1_Q3,2_Q3,3_Q3", "Warm?,Warm?,Warm?"),
        ("Q5_1,Q5_2,Q5_3", "Warm? - Chat 1,Warm? - Chat 2,Warm? - Chat 3"),
    ],
)
def test_qualtrics_keeps_items_on_which_everybody_agreed(
    tmp_path: Path, names: str, texts: str
) -> None:
    text = qualtrics(names, texts, "Yes,No,Yes", "Yes,No,No")
    table, said = read(tmp_path / "s.csv", text, scales={"": ["nominal"]})
    answers = table.group_by("dialog", maintain_order=True).agg("label")["label"].to_list()
    assert answers == [["Yes", "Yes"], ["No", "No"], ["Yes", "No"]]
    assert "3 items" in said[0]


def test_a_matrix_keeps_items_on_which_everybody_agreed(tmp_path: Path) -> None:
    text = "rater,a,b,c,comment\nr1,Yes,No,Yes,fine\nr2,Yes,No,No,fine\n"
    table, _ = read(tmp_path / "r.csv", text)
    assert table["dialog"].unique(maintain_order=True).to_list() == ["a", "b", "c"]


def test_conversation_may_name_items_or_hold_turns(tmp_path: Path) -> None:
    table, said = read(tmp_path / "r.csv", "Ann,Bob,conversation\n7,6,case-0\n2,2,case-1\n")
    assert cells(table, "dialog", "rater")[("case-1", "Bob")] == 2
    assert "column conversation" in said[0]
    with pytest.raises(DialensError, match=r"--format wide"):
        read(tmp_path / "r.csv", 'Ann,Bob,conversation\n7,6,"[1, 2]"\n2,2,"[3]"\n')


def test_qualtrics_that_does_not_say_what_was_rated(tmp_path: Path) -> None:
    text = qualtrics("Q5_1,Q5_2,Q6_1,Q6_2", "A - x,A - y,B - x,B - z", "1,2,3,4", "5,6,7,8")
    with pytest.raises(DialensError, match=r"--column item=question.*--column item=statement"):
        read(tmp_path / "s.csv", text)
    table, _ = read(tmp_path / "s.csv", text, columns={"item": "statement", "rater": "ResponseId"})
    assert cells(table, "rater", "dialog", "quality")[("R_1", "z", "B")] == 4


def test_facts_about_raters_from_prolific(tmp_path: Path) -> None:
    prolific = tmp_path / "prolific.csv"
    prolific.write_text(
        "Submission id,Participant id,Status,Age,Sex\n"
        "s1,p1,APPROVED,31,Female\ns2,p2,RETURNED,CONSENT_REVOKED,Male\ns3,p9,APPROVED,20,Male\n"
    )
    text = "item,rater,value\na,p1,1\na,p2,2\na,p3,3\n"
    table, said = read(tmp_path / "r.csv", text, participants=prolific)
    assert table.select("rater", "Age", "Sex").rows() == [
        ("p1", "31", "Female"), ("p2", None, "Male"), ("p3", None, None),
    ]  # fmt: skip
    assert any("1 rater is not in prolific.csv: p3" in line for line in said)
    with pytest.raises(DialensError, match="--participants"):
        load_ratings(prolific)
    with pytest.raises(DialensError, match="No rater is in"):
        read(tmp_path / "r.csv", "item,rater,value\na,x1,1\na,x2,2\n", participants=prolific)


def task(number: int, annotations: list[dict[str, object]], **data: object) -> dict[str, object]:
    return {"id": number, "data": {"chat": "Hi", **data}, "annotations": annotations}


def annotation(who: object, *results: dict[str, object], **more: object) -> dict[str, object]:
    return {"id": 7, "completed_by": who, "result": list(results), **more}


def result(name: str, kind: str, **value: object) -> dict[str, object]:
    return {"from_name": name, "to_name": "chat", "type": kind, "value": value}


def test_label_studio_tasks(tmp_path: Path) -> None:
    tasks = [
        task(
            1,
            [
                annotation(
                    1, result("fluency", "rating", rating=4), result("n", "number", number=7)
                ),
                annotation({"id": 2, "email": "b@x"}, result("fluency", "rating", rating=2)),
                annotation(3, result("fluency", "rating", rating=1), was_cancelled=True),
            ],
            agent="bot",
        ),
        task(2, [annotation(1, result("tone", "choices", choices=["warm"]),
                            result("why", "textarea", text=["since"]))], agent="bot2"),
    ]  # fmt: skip
    table, said = read(tmp_path / "export.json", json.dumps(tasks))
    assert cells(table, "dialog", "rater", "quality", "agent") == {
        ("1", "1", "fluency", "bot"): 4, ("1", "1", "n", "bot"): 7,
        ("1", "b@x", "fluency", "bot"): 2, ("2", "1", "tone", "bot2"): None,
    }  # fmt: skip
    assert table["label"].to_list() == [None, None, None, "warm"]
    assert "2 tasks, 2 annotators, 3 qualities" in said[0]
    assert said[1:] == [
        "1 cancelled annotation left out.",
        "Results that are no ratings are left out: textarea (1).",
    ]


def test_label_studio_pairs_and_rankings_are_choices(tmp_path: Path) -> None:
    tasks = [
        task(1, [annotation(1, result("better", "pairwise", selected="right"))],
             agent_left="x", agent_right="y"),
        task(2, [annotation(1, result("order", "ranker", ranker={"rank": ["y", "x", "z"]}))]),
    ]  # fmt: skip
    table, _ = read(tmp_path / "export.json", json.dumps(tasks))
    assert cells(table, "quality", "agent") == {
        ("better", "x"): 0, ("better", "y"): 1,
        ("order", "y"): 1, ("order", "x"): 2, ("order", "z"): 3,
    }  # fmt: skip
    kinds = dict(table.select("quality", "scale").unique().iter_rows())
    assert json.loads(kinds["better"])["kind"] == "pairwise"
    assert json.loads(kinds["order"])["kind"] == "ranking"


MIN_HEADER = "agent,annotation_id,annotator,chat,created_at,fluency,id,lead_time,note,verdict\n"
"""As label-studio-converter writes it."""


def test_label_studio_rows_of_annotations(tmp_path: Path) -> None:
    text = MIN_HEADER + (
        'x,11,r1@x.org,Hi,2024,"[{""rating"":2}]",1,3.2,hm,good\n'
        'x,12,r2@x.org,Hi,2024,"[{""rating"":5}]",1,3.2,oh well,bad\n'
        'y,21,r1@x.org,Ho,2024,"[{""rating"":3}]",2,3.2,,good\n'
    )
    table, _ = read(tmp_path / "result.csv", text)
    assert cells(table.filter(quality="fluency"), "dialog", "rater", "agent") == {
        ("1", "r1@x.org", "x"): 2, ("1", "r2@x.org", "x"): 5, ("2", "r1@x.org", "y"): 3,
    }  # fmt: skip
    assert set(table["quality"]) == {"fluency", "verdict"}, "free text is no rating"
    records = [
        {"id": 1, "chat": "Hi", "fluency": [{"rating": 2}], "annotator": 1, "annotation_id": 4,
         "lead_time": 2.0},
        {"id": 1, "chat": "Hi", "fluency": [{"rating": 3}], "annotator": 2, "annotation_id": 5,
         "lead_time": 2.0},
    ]  # fmt: skip
    table, _ = read(tmp_path / "min.json", json.dumps(records))
    assert cells(table, "dialog", "rater", "quality") == {
        ("1", "1", "fluency"): 2,
        ("1", "2", "fluency"): 3,
    }


def potato_state(user: str, labels: dict[str, list[tuple[str, str, str]]]) -> str:
    """As version 2 of Potato saves a user."""
    said = {i: [[{"schema": s, "name": n}, v] for s, n, v in three] for i, three in labels.items()}
    return json.dumps({"user_id": user, "instance_id_to_label_to_value": said})


def test_potato_folders_of_users(tmp_path: Path) -> None:
    for user, point, tone in (("ann", "4", "Warm"), ("bob", "2", "Cold")):
        folder = tmp_path / "annotation_output" / user
        folder.mkdir(parents=True)
        said = [("fluency", point, point), ("tone", tone, tone), ("share", "slider", "57")]
        (folder / "user_state.json").write_text(potato_state(user, {"d1": said}))
    said_lines: list[str] = []
    table = load_ratings(tmp_path / "annotation_output", say=said_lines.append)
    found = cells(table, "dialog", "rater", "quality")
    assert found[("d1", "ann", "fluency")] == 4
    assert found[("d1", "bob", "share")] == 57
    assert table.filter(quality="tone")["label"].to_list() == ["Warm", "Cold"]
    assert "2 users, 1 instance, 3 qualities" in said_lines[0]


def test_potato_of_version_one(tmp_path: Path) -> None:
    for user, point in (("ann", "4"), ("bob", "2")):
        folder = tmp_path / "out" / user
        folder.mkdir(parents=True)
        line = {"id": "d1", "displayed_text": "Hi", "span_annotations": {}}
        line["label_annotations"] = {"fluency": {f"scale_{point}": point}}
        (folder / "annotated_instances.jsonl").write_text(json.dumps(line) + "\n")
    table = load_ratings(tmp_path / "out")
    assert cells(table, "dialog", "rater") == {("d1", "ann"): 4, ("d1", "bob"): 2}
    text = (
        "user\tinstance_id\tdisplayed_text\tfluency:::scale_2\tfluency:::scale_4\n"
        "ann\td1\tHi\t\t4\nbob\td1\tHi\t2\t\n"
    )
    table, _ = read(tmp_path / "annotated_instances.tsv", text)
    assert cells(table, "dialog", "rater") == {("d1", "ann"): 4, ("d1", "bob"): 2}


def test_potato_exports(tmp_path: Path) -> None:
    text = "instance_id,user_id,fluency.4,fluency.2,tone.Warm\nd1,ann,4,,Warm\nd1,bob,,2,Warm\n"
    table, _ = read(tmp_path / "annotations.csv", text)
    assert cells(table.filter(quality="fluency"), "dialog", "rater") == {
        ("d1", "ann"): 4, ("d1", "bob"): 2,
    }  # fmt: skip
    lines = [
        {"instance_id": "d1", "user_id": "ann", "labels": {"better": {"selection": "A"}}},
        {"instance_id": "d1", "user_id": "bob", "labels": {"better": {"selection": "tie"}}},
    ]
    table, said = read(tmp_path / "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert cells(table, "rater", "agent") == {
        ("ann", "A"): 1, ("ann", "B"): 0, ("bob", "A"): 0.5, ("bob", "B"): 0.5,
    }  # fmt: skip
    assert "called A and B" in said[1]
