"""Calls that were logged one by one become the dialogues they were part of; logs of APIs."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import read
from tests.corpus.samples import lines_of
from tests.corpus.trace_samples import (
    FILES,
    FIRST,
    GO,
    RAIN,
    SECOND,
    agents,
    bot,
    request,
    spoken,
    told,
    user,
)

# --- calls that belong together


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["oldest first", "newest first"])
def test_growing_requests_are_one_dialogue(order: tuple[int, int], tmp_path: Path) -> None:
    corpus = told(tmp_path / "log.jsonl", [(FIRST, SECOND)[place] for place in order])
    assert list(spoken(corpus).values()) == [GO]


def test_equal_calls_of_different_people_are_different_dialogues(tmp_path: Path) -> None:
    """Two people began alike; each conversation goes on once, and each reply counts once."""
    other = request([user("Is it raining?"), bot("A little."), user("Bye")], "Bye!", "r4")
    again = {**FIRST, "response": {**FIRST["response"], "id": "r3"}}
    talks = list(spoken(told(tmp_path / "log.jsonl", [FIRST, again, SECOND, other])).values())
    assert sorted(talks) == sorted([GO, [*RAIN, ("partner", "Bye"), ("agent", "Bye!")]])


def test_what_two_branches_share_is_the_agents_in_one_of_them_only(tmp_path: Path) -> None:
    other = request([user("Is it raining?"), bot("A little."), user("Bye")], "Bye!", "r3")
    corpus = told(tmp_path / "log.jsonl", [FIRST, SECOND, other])
    first, second = spoken(corpus).values()
    assert first == GO
    assert [role for role, _ in second] == ["partner", "partner", "partner", "agent"]
    replies = corpus.turns.filter(pl.col("role") == "agent").collect()["text"].to_list()
    assert sorted(replies) == ["A little.", "Bye!", "Yes: now."]


def test_few_shot_examples_are_not_counted_again_and_again(tmp_path: Path) -> None:
    shown = [user("What is 1 + 1?"), bot("2")]
    records = [request([*shown, user(f"Question {n}?")], f"Answer {n}.", f"r{n}") for n in range(4)]
    corpus = told(tmp_path / "log.jsonl", records)
    replies = corpus.turns.filter(pl.col("role") == "agent").collect()["text"].to_list()
    assert replies.count("2") == 1
    assert len(spoken(corpus)) == 4


def test_a_call_that_failed_is_followed_by_its_retry(tmp_path: Path) -> None:
    failed = {"request": FIRST["request"], "response": {"error": {"message": "overloaded"}}}
    assert list(spoken(told(tmp_path / "log.jsonl", [failed, FIRST])).values()) == [RAIN]


@pytest.mark.parametrize(
    "kept", [0, 1, 2], ids=["without history", "the last message", "the last two"]
)
def test_a_session_is_one_dialogue_however_much_each_call_repeats(
    kept: int, tmp_path: Path
) -> None:
    texts = [user("Hi"), bot("Hello!"), user("Tea?"), bot("Please."), user("Milk?"), bot("No.")]
    records = []
    for place in (0, 2, 4):
        given = texts[max(0, place - kept) : place + 1]
        name = f"r{place}"
        records.append(
            request(given, texts[place + 1]["content"], name, session_id="s", timestamp=place + 1)
        )
    corpus = told(tmp_path / "log.jsonl", records[::-1])
    assert [text for _, text in spoken(corpus)["s"]] == [turn["content"] for turn in texts]


def test_another_reply_to_the_same_words_is_a_dialogue_of_its_own(tmp_path: Path) -> None:
    again = request(SECOND["request"]["messages"], "No.", "r3")
    records = [{**record, "session_id": "s"} for record in (FIRST, SECOND, again)]
    talks = spoken(told(tmp_path / "log.jsonl", records))
    assert talks["s"] == GO
    assert talks["s-2"][-1] == ("agent", "No.")
    assert [role for role, _ in talks["s-2"]].count("agent") == 1


def test_the_log_of_a_session_may_go_on_in_another_file(tmp_path: Path) -> None:
    for number, record in enumerate((FIRST, SECOND)):
        (tmp_path / f"day{number}.jsonl").write_bytes(lines_of([{**record, "session_id": "s"}]))
    assert spoken(read(tmp_path)) == {"s": GO}


def test_a_model_that_changes_is_named_by_most_calls(tmp_path: Path) -> None:
    third = request([*SECOND["request"]["messages"], bot("Yes: now."), user("Bye")], "Bye!", "r3")
    third["response"]["model"] = "bot-2"
    corpus = told(tmp_path / "log.jsonl", [FIRST, SECOND, third])
    assert agents(corpus) == ["bot-1"]
    assert '"model":"bot-2"' in corpus.turns.collect()["meta"][-1]


def test_a_call_met_twice_is_named(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match=r"line 2: field `id` is a duplicate.*seen: r1"):
        told(tmp_path / "log.jsonl", [FIRST, FIRST])


# --- APIs


LOOKED_UP = [("partner", "What is it?"), ("agent", "A dog.")]


def test_a_tool_is_no_turn_in_any_api(tmp_path: Path) -> None:
    asked = user("What is it?")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    calls = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "dog"}
    first = request([asked], "", "o1")
    first["response"]["choices"][0]["message"] = calls
    second = request([asked, calls, result], "A dog.", "o2")
    openai = told(tmp_path / "openai.jsonl", [first, second])
    used = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    found = {"type": "tool_result", "tool_use_id": "c1", "content": "dog"}
    given = [asked, {"role": "assistant", "content": [used]}, {"role": "user", "content": [found]}]

    def claude(name: str, *content: dict[str, Any]) -> dict[str, Any]:
        parts = list(content)
        about = {"id": name, "type": "message", "role": "assistant", "model": "claude"}
        return {**about, "content": parts, "stop_reason": "end_turn"}

    anthropic = told(
        tmp_path / "anthropic.jsonl",
        [
            {
                "request": {"system": "Be kind.", "messages": given[:1]},
                "response": claude("a", used),
            },
            {
                "request": {"system": "Be kind.", "messages": given},
                "response": claude("b", {"type": "text", "text": "A dog."}),
            },
        ],
    )
    items = [
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "dog"},
    ]
    spoke = {"type": "message", "role": "assistant"}
    said = {**spoke, "content": [{"type": "output_text", "text": "A dog."}]}
    responses = told(
        tmp_path / "responses.jsonl",
        [
            {
                "request": {"model": "bot-1", "input": [asked, *items]},
                "response": {"id": "x", "object": "response", "model": "bot-1", "output": [said]},
            }
        ],
    )
    for corpus in (openai, anthropic, responses):
        assert list(spoken(corpus).values()) == [LOOKED_UP]
    kept = json.loads(anthropic.turns.collect()["meta"][0])
    assert kept["before"] == [{"role": "system", "content": "Be kind."}]


def test_responses_go_on_from_the_one_before() -> None:
    (talk,) = spoken(read(FILES / "openai_responses.jsonl")).values()
    assert [text for _, text in talk] == [
        "Is it raining?",
        "R: Is it raining?",
        "Shall we go?",
        "R: Shall we go?",
    ]


def batch(folder: Path) -> tuple[Path, Path]:
    asked = [user("Is it raining?")]
    body = {"model": "bot-1", "messages": asked}
    sent = {"custom_id": "c1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    reply = request(asked, "A little.", "x")["response"]
    answer = {"status_code": 200, "request_id": "q", "body": reply}
    got = {"id": "batch_req_1", "custom_id": "c1", "response": answer, "error": None}
    (folder / "input.jsonl").write_bytes(lines_of([sent]))
    (folder / "output.jsonl").write_bytes(lines_of([got]))
    return folder / "input.jsonl", folder / "output.jsonl"


def test_a_batch_is_joined_with_its_requests(tmp_path: Path) -> None:
    sent, got = batch(tmp_path)
    assert spoken(read(tmp_path)) == spoken(read(got)) == {"c1": RAIN}
    with pytest.raises(DialensError, match=r"no reply to any of them\. Read output\.jsonl"):
        read(sent)
    (tmp_path / "talk.txt").write_text("Ann: hello\nBot: hello to you\n")
    assert spoken(read(tmp_path))["c1"] == RAIN
    sent.unlink()
    assert spoken(read(got)) == {"c1": RAIN[1:]}


def test_requests_of_a_batch_alone_are_refused(tmp_path: Path) -> None:
    sent, got = batch(tmp_path)
    got.unlink()
    with pytest.raises(DialensError, match="Put the batch's output file beside it"):
        read(sent)


def test_anthropics_batches(tmp_path: Path) -> None:
    params = {"model": "claude", "max_tokens": 9, "messages": [user("Is it raining?")]}
    (tmp_path / "in.jsonl").write_bytes(lines_of([{"custom_id": "c1", "params": params}]))
    text = {"type": "text", "text": "A little."}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude"}
    result = {"type": "succeeded", "message": {**message, "content": [text]}}
    (tmp_path / "out.jsonl").write_bytes(lines_of([{"custom_id": "c1", "result": result}]))
    corpus = read(tmp_path)
    assert spoken(corpus) == {"c1": RAIN}
    assert agents(corpus) == ["claude"]


def test_a_reply_that_is_json_stays_as_it_is(tmp_path: Path) -> None:
    reply = '{"answer": "A little.", "messages": 3}'
    (talk,) = spoken(told(tmp_path / "log.jsonl", [request([user("Hi")], reply, "r")])).values()
    assert talk[1] == ("agent", reply)
