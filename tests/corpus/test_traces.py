"""Traces, spans and test cases: what becomes a dialogue, an agent, a rating."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Corpus, Source, read
from dialens.corpus._reading import choose
from dialens.corpus.readers import readers
from tests.corpus.samples import lines_of
from tests.corpus.trace_samples import (
    FILES,
    GO,
    MESSAGES,
    RAIN,
    SECOND,
    agents,
    bot,
    constructed,
    langchain,
    otlp,
    parts,
    spoken,
    told,
    user,
)

# --- files that the packages wrote


@pytest.mark.parametrize(
    ("name", "format", "agent", "talks"),
    [
        ("langchain_dumps.json", "langchain", ["gpt-x"], 1),
        ("langchain_messages_to_dict.json", "langchain", ["gpt-x"], 1),
        ("langsmith_runs.jsonl", "langsmith", ["bot-7"], 2),
        ("promptfoo.jsonl", "promptfoo", ["echo-bot", "helper"], 8),
        ("promptfoo.csv", "promptfoo", ["echo-bot", "helper"], 8),
        ("deepeval_run.json", "deepeval", ["deepeval_run"], 1),
        ("deepeval.csv", "deepeval", ["deepeval"], 2),
        ("openai_requests.jsonl", "api-logs", ["gpt-x-2026"], 2),
        ("openai_responses.jsonl", "api-logs", ["gpt-x-2026"], 1),
        ("otel_genai_otlp.json", "spans", ["gpt-x-2026"], 2),
        ("openinference_console.json", "spans", ["gpt-x-2026"], 2),
        ("inspect.eval", "inspect", ["mockllm/model"], 4),
    ],
)
def test_what_a_package_wrote_is_read(name: str, format: str, agent: list[str], talks: int) -> None:
    corpus = read(FILES / name)
    assert corpus.manifest["source"]["format"] == format
    assert agents(corpus) == agent
    assert len(spoken(corpus)) == talks
    assert all(turns[-1][0] == "agent" for turns in spoken(corpus).values())


def test_a_conversation_that_was_logged_three_times_is_one_dialogue() -> None:
    """The client was asked three times, each time with all that was said before."""
    (first, second) = spoken(read(FILES / "otel_genai_otlp.json")).values()
    assert first == [
        ("partner", "Is it raining?"),
        ("agent", "Echo: Is it raining?"),
        ("partner", "Shall we go?"),
        ("agent", "Echo: Shall we go?"),
        ("partner", "Bye"),
        ("agent", "Echo: Bye"),
    ]
    assert [text for _, text in second] == [
        "Is it raining?",
        "Echo: Is it raining?",
        "No?",
        "Echo: No?",
    ]


def test_a_session_is_the_dialogue_and_the_service_the_system() -> None:
    corpus = read(FILES / "openinference_console.json")
    talks = spoken(corpus)
    assert len(talks.pop("s1")) == 6
    assert [len(turns) for turns in talks.values()] == [4]
    assert corpus.turns.collect()["system"].unique().to_list() == ["shop"]


def test_langsmith_joins_the_runs_of_a_thread_and_names_the_model_of_the_inner_run() -> None:
    corpus = read(FILES / "langsmith_runs.jsonl")
    assert spoken(corpus)["s1"] == GO
    lines = (FILES / "langsmith_runs.jsonl").read_text().splitlines()
    kinds = {json.loads(line)["run_type"] for line in lines}
    assert kinds == {"chain", "prompt", "llm", "parser"}


def test_promptfoo_json_holds_the_same_results(tmp_path: Path) -> None:
    results = [json.loads(line) for line in (FILES / "promptfoo.jsonl").read_text().splitlines()]
    whole = {"evalId": "e", "results": {"version": 3, "results": results, "stats": {}}}
    path = tmp_path / "promptfoo.json"
    path.write_text(json.dumps(whole, indent=2))
    assert spoken(read(path)) == spoken(read(FILES / "promptfoo.jsonl"))
    scores = read(path).ratings.collect()
    assert scores.filter(quality="score")["value"].sort().to_list() == [0.0] * 4 + [0.75] * 4
    assert scores.filter(quality="long")["value"].to_list() == [0.5] * 4
    assert scores["rater"].unique().to_list() == ["promptfoo"]


def test_promptfoo_csv_has_as_many_scores_as_json() -> None:
    table = read(FILES / "promptfoo.csv").ratings.collect()
    lines = read(FILES / "promptfoo.jsonl").ratings.collect()
    both = [part.group_by("quality").len().sort("quality").rows() for part in (table, lines)]
    assert both[0] == both[1] == [("long", 4), ("score", 8)]


def test_deepeval_run_has_ratings_and_references() -> None:
    corpus = read(FILES / "deepeval_run.json")
    rating = corpus.ratings.collect().row(0, named=True)
    assert (rating["quality"], rating["value"], rating["turn"]) == ("Kindness", 0.8, 1)
    assert rating["rater"] == "deepeval:judge-1"
    assert corpus.references.collect()["text"].to_list() == ["Yes."]


# --- Langfuse


def trace(name: str, asked: object, reply: object, **more: Any) -> dict[str, Any]:
    known = {"id": name, "timestamp": "2026-01-01T12:00:00Z", "name": "support", "sessionId": None}
    return {**known, "input": asked, "output": reply, "metadata": {}, **more}


def generation(name: str, of: str, asked: object, reply: object, **more: Any) -> dict[str, Any]:
    known = {"id": name, "traceId": of, "type": "GENERATION", "startTime": "2026-01-01T12:00:00Z"}
    return {**known, "model": "bot-1", "input": asked, "output": reply, **more}


LATER = "2026-01-01T12:05:00Z"
SESSION = [
    trace("t2", "Shall we go?", "Yes: now.", sessionId="s", timestamp=LATER),
    trace("t1", "Is it raining?", "A little.", sessionId="s"),
]


def test_traces_of_a_session_are_one_dialogue_in_the_order_of_time(tmp_path: Path) -> None:
    corpus = told(tmp_path / "traces.jsonl", SESSION)
    assert spoken(corpus) == {"s": GO}
    assert agents(corpus) == ["support"]


@pytest.mark.parametrize("shape", ["csv", "page", "array"])
def test_langfuse_in_other_containers(shape: str, tmp_path: Path) -> None:
    records = [
        trace("t1", [user("Is it raining?")], bot("A little."), sessionId="s"),
        trace("t2", [user("Shall we go?")], bot("Yes: now."), sessionId="s", timestamp=LATER),
    ]
    path = tmp_path / f"traces.{shape}"
    if shape == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(records[0]))
            writer.writeheader()
            for record in records:
                cells = {key: json.dumps(record[key]) for key in ("input", "output", "metadata")}
                writer.writerow({**record, **cells})
    else:
        whole = {"data": records, "meta": {"page": 1}} if shape == "page" else records
        path.write_text(json.dumps(whole, indent=1))
    assert spoken(read(path)) == {"s": GO}


def test_generations_count_where_a_trace_has_no_messages_of_its_own(tmp_path: Path) -> None:
    title = generation("g1", "t1", [user("A title for: Is it raining?")], bot("Rain"))
    answer = generation("g2", "t1", [user("Is it raining?")], bot("A little."), model="bot-2")
    talk = generation(
        "g3", "t1", SECOND["request"]["messages"], bot("Yes: now."), model="bot-2", endTime=LATER
    )
    whole = trace("t1", {"args": [1]}, None, observations=[title, answer, talk])
    corpus = told(tmp_path / "traces.jsonl", [whole])
    assert spoken(corpus) == {"t1": GO}
    assert agents(corpus) == ["bot-2"]
    assert "A title for" in corpus.turns.collect()["meta"][-1]


def test_traces_observations_and_scores_in_files_of_their_own(tmp_path: Path) -> None:
    prompt = [user("Answer from the papers below: … Is it raining?")]
    score = {"id": "x", "traceId": "t1", "name": "helpful", "value": 0.5, "dataType": "NUMERIC"}
    scores = [
        {**score, "source": "EVAL"},
        {**score, "id": "y", "value": 1, "source": "ANNOTATION", "authorUserId": "ann"},
    ]
    parts = {
        "traces": [trace("t1", "Is it raining?", "A little.", sessionId="s")],
        "observations": [generation("g1", "t1", prompt, bot("A little."))],
        "scores": scores,
    }
    for name, records in parts.items():
        (tmp_path / f"{name}.jsonl").write_bytes(lines_of(records))
    corpus = read(tmp_path)
    assert corpus.manifest["source"]["format"] == "langfuse"
    assert spoken(corpus) == {"s": RAIN}
    assert agents(corpus) == ["bot-1"]
    assert corpus.ratings.select(
        "turn", "quality", "value", "rater", "rater_kind"
    ).collect().rows() == [
        (1, "helpful", 0.5, "langfuse:eval", "llm"),
        (1, "helpful", 1.0, "ann", "human"),
    ]


def test_a_trace_without_any_message_is_named(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match=r"line 2: holds no message that can be read"):
        told(tmp_path / "traces.jsonl", [SESSION[1], trace("t9", {"rows": 3}, None)])


# --- LangSmith and LangChain


def test_the_root_of_a_trace_counts_before_its_steps(tmp_path: Path) -> None:
    root = {
        "id": "a",
        "trace_id": "a",
        "run_type": "chain",
        "name": "LangGraph",
        "extra": {"metadata": {"thread_id": "s"}},
        "inputs": {"messages": [user("Is it raining?")]},
        "outputs": {"messages": [langchain(user("Is it raining?")), langchain(bot("A little."))]},
        "feedback_stats": {"thumbs": {"n": 1, "avg": 1.0}},
    }
    step = {
        "id": "b",
        "trace_id": "a",
        "parent_run_id": "a",
        "run_type": "llm",
        "extra": {"invocation_params": {"model": "bot-1"}},
        "inputs": {"messages": [[constructed(user("Context: … Is it raining?"))]]},
        "outputs": {
            "generations": [[{"text": "A little.", "message": constructed(bot("A little."))}]]
        },
    }
    corpus = told(tmp_path / "runs.jsonl", [step, root])
    assert spoken(corpus) == {"s": RAIN}
    assert agents(corpus) == ["bot-1"]
    assert corpus.ratings.select("turn", "quality", "value").collect().rows() == [
        (1, "thumbs", 1.0)
    ]


def test_a_project_is_no_thread(tmp_path: Path) -> None:
    runs = [
        {
            "id": name,
            "run_type": "llm",
            "session_id": "project",
            "inputs": {"messages": [user(text)]},
            "outputs": {"output": "Yes."},
        }
        for name, text in (("a", "Hi"), ("b", "Ho"))
    ]
    assert sorted(spoken(told(tmp_path / "runs.jsonl", runs))) == ["a", "b"]


def test_langchain_in_every_shape_of_file(tmp_path: Path) -> None:
    plain, built = [langchain(m) for m in MESSAGES], [constructed(m) for m in MESSAGES]
    shapes = {
        "one.json": json.dumps(plain, indent=1),
        "many.json": json.dumps([plain, built]),
        "lines.jsonl": "\n".join(json.dumps(part) for part in (built, plain)),
        "objects.jsonl": "\n".join(json.dumps({"messages": part}) for part in (built, plain)),
    }
    for name, text in shapes.items():
        (tmp_path / name).write_text(text)
        corpus = read(tmp_path / name)
        assert corpus.manifest["source"]["format"] == "langchain"
        count = 1 if name == "one.json" else 2
        assert list(spoken(corpus).values()) == [GO] * count, name


def test_rows_of_a_message_store_are_put_together_by_session(tmp_path: Path) -> None:
    rows = [
        {"id": number, "session_id": session, "message": langchain(message)}
        for number, (message, session) in enumerate(
            (message, session) for message in MESSAGES for session in ("s1", "s2")
        )
    ]
    assert spoken(told(tmp_path / "store.jsonl", rows)) == {"s1": GO, "s2": GO}


# --- spans


def span(attributes: object, name: str = "s1", **more: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": "1767268800000000000", "endTimeUnixNano": "1767268801000000000"}
    return {
        "traceId": "t1",
        "spanId": name,
        "name": "chat",
        **times,
        "attributes": attributes,
        **more,
    }


def otlp_file(path: Path, *spans: dict[str, Any], **more: Any) -> Corpus:
    service = otlp({"service.name": "shop"})
    part = {"resource": {"attributes": service}, "scopeSpans": [{"spans": list(spans)}]}
    path.write_text(json.dumps({"resourceSpans": [part], **more}))
    return read(path)


def test_spans_of_every_convention_read_alike(tmp_path: Path) -> None:
    asked, reply = MESSAGES[:3], MESSAGES[3]
    new = {
        "gen_ai.input.messages": json.dumps([parts(m) for m in asked]),
        "gen_ai.output.messages": json.dumps([{**parts(reply), "finish_reason": "stop"}]),
    }
    old = {
        f"gen_ai.prompt.{n}.{key}": value
        for n, message in enumerate(asked)
        for key, value in message.items()
    } | {f"gen_ai.completion.0.{key}": value for key, value in reply.items()}
    phoenix = {
        f"llm.input_messages.{n}.message.{key}": value
        for n, message in enumerate(asked)
        for key, value in message.items()
    } | {f"llm.output_messages.0.message.{key}": value for key, value in reply.items()}
    sdk = {"ai.prompt.messages": json.dumps(asked), "ai.response.text": reply["content"]}
    events = [
        *({"name": f"gen_ai.{m['role']}.message", "attributes": otlp(m)} for m in asked),
        {"name": "gen_ai.choice", "attributes": otlp({"index": "0", "message": json.dumps(reply)})},
    ]
    model = {"gen_ai.request.model": "bot-1", "gen_ai.operation.name": "chat"}
    for facts in (new, old, phoenix, sdk):
        corpus = otlp_file(tmp_path / "spans.json", span(otlp({**model, **facts})))
        assert spoken(corpus) == {"t1": GO}
        assert agents(corpus) == ["bot-1"]
    corpus = otlp_file(tmp_path / "spans.json", span(otlp(model), events=events))
    assert spoken(corpus) == {"t1": GO}


def test_attributes_may_be_nested_and_texts_in_parts(tmp_path: Path) -> None:
    def message(role: str, **more: Any) -> dict[str, Any]:
        return {"message": {"role": role, **more}}

    asked = message(
        "user", contents=[{"message_content": {"type": "text", "text": "Is it raining?"}}]
    )
    looks = message("assistant", tool_calls=[{"tool_call": {"function": {"name": "look"}}}])
    inner = {
        "model_name": "bot-1",
        "input_messages": [asked, looks, message("tool", content="drops")],
        "output_messages": [message("assistant", content="A little.")],
    }
    facts = {"llm": inner, "session": {"id": "s"}, "openinference": {"span": {"kind": "LLM"}}}
    corpus = told(tmp_path / "spans.jsonl", [span(facts)])
    assert spoken(corpus) == {"s": RAIN}
    assert agents(corpus) == ["bot-1"]


def test_messages_in_log_records_belong_to_their_span(tmp_path: Path) -> None:
    def record(name: str, body: dict[str, Any]) -> dict[str, Any]:
        pairs = [{"key": key, "value": {"stringValue": value}} for key, value in body.items()]
        place = {"traceId": "t1", "spanId": "s1", "eventName": name}
        return {**place, "body": {"kvlistValue": {"values": pairs}}}

    records = [
        record("gen_ai.user.message", {"content": "Is it raining?"}),
        record("gen_ai.choice", {"index": "0", "message": json.dumps(bot("A little."))}),
    ]
    logs = [{"scopeLogs": [{"logRecords": records}]}]
    model = otlp({"gen_ai.response.model": "bot-1", "gen_ai.operation.name": "chat"})
    corpus = otlp_file(tmp_path / "spans.json", span(model), resourceLogs=logs)
    assert spoken(corpus) == {"t1": RAIN}
    assert agents(corpus) == ["bot-1"]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_phoenix_tables_have_a_column_an_attribute(kind: str, tmp_path: Path) -> None:
    def messages(*said: dict[str, Any]) -> list[dict[str, Any]]:
        return [{f"message.{key}": value for key, value in message.items()} for message in said]

    table = pl.DataFrame(
        {
            "name": ["ChatCompletion"] * 2,
            "context.span_id": ["a", "b"],
            "context.trace_id": ["t1", "t2"],
            "parent_id": [None, None],
            "start_time": ["2026-01-01T12:00:00Z", "2026-01-01T12:05:00Z"],
            "attributes.llm.model_name": ["bot-1"] * 2,
            "attributes.session.id": ["s"] * 2,
            "attributes.openinference.span.kind": ["LLM"] * 2,
            "attributes.llm.input_messages": [messages(*MESSAGES[:1]), messages(*MESSAGES[:3])],
            "attributes.llm.output_messages": [messages(MESSAGES[1]), messages(MESSAGES[3])],
        }
    )
    path = tmp_path / f"spans.{kind}"
    if kind == "parquet":
        table.write_parquet(path)
    else:
        table.write_ndjson(path)
    corpus = read(path)
    assert corpus.manifest["source"]["format"] == "spans"
    assert spoken(corpus) == {"s": GO}
    assert agents(corpus) == ["bot-1"]


def test_the_root_span_says_what_the_user_saw(tmp_path: Path) -> None:
    facts = {"input.value": "Is it raining?", "output.value": "A little.", "session.id": "s"}
    prompt = [parts(user("Context: … Is it raining?"))]
    inner = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": "bot-1",
        "gen_ai.input.messages": json.dumps(prompt),
        "gen_ai.output.messages": json.dumps([parts(bot("A little."))]),
    }
    corpus = otlp_file(
        tmp_path / "spans.json",
        span(otlp(inner), "s2", parentSpanId="s1"),
        span(otlp(facts), "s1"),
    )
    assert spoken(corpus) == {"s": RAIN}
    assert agents(corpus) == ["bot-1"]


def test_spans_that_are_no_calls_are_passed_over(tmp_path: Path) -> None:
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Is it raining?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "A little.",
    }
    web = span(otlp({"http.request.method": "GET"}), "s9", traceId="t9")
    shop = span(otlp({"session.id": "s"}), "s1")
    inner = span(otlp(chat), "s2", parentSpanId="s1")
    corpus = otlp_file(tmp_path / "spans.json", web, shop, inner)
    assert spoken(corpus) == {"s": RAIN}
    assert agents(corpus) == ["spans"]  # no model is named: the file is


# --- promptfoo and DeepEval


def test_promptfoo_conversations_and_the_tables_of_older_versions(tmp_path: Path) -> None:
    def result(name: str, prompt: list[dict[str, Any]], output: str) -> dict[str, Any]:
        return {
            "id": name,
            "prompt": {"raw": json.dumps(prompt), "label": "p"},
            "provider": {"id": "bot-1"},
            "response": {"output": output},
            "testCase": {"metadata": {"conversationId": "c"}},
            "vars": {},
        }

    records = [result("a", MESSAGES[:1], "A little."), result("b", MESSAGES[:3], "Yes: now.")]
    assert list(spoken(told(tmp_path / "out.jsonl", records)).values()) == [GO]
    path = tmp_path / "old.csv"
    path.write_text(
        'question,"[bot-1] Kindly: {{question}}"\n'
        "Is it raining?,[PASS] A little.\n"
        'Shall we go?,"[FAIL] Expected rain\n---\nYes: now."\n'
    )
    assert list(spoken(read(path)).values()) == [
        [("partner", "Kindly: Is it raining?"), ("agent", "A little.")],
        [("partner", "Kindly: Shall we go?"), ("agent", "Yes: now.")],
    ]


def test_an_output_that_is_an_object_is_its_json(tmp_path: Path) -> None:
    record = {
        "prompt": {"raw": "Hi", "label": "p"},
        "provider": "bot-1",
        "response": {"output": {"answer": "yes", "sure": 1}},
        "vars": {},
    }
    (talk,) = spoken(told(tmp_path / "out.jsonl", [record])).values()
    assert talk[1] == ("agent", '{"answer":"yes","sure":1}')


def test_a_golden_without_output_is_named(tmp_path: Path) -> None:
    golden = {"input": "Hi", "actual_output": None, "expected_output": "Hello", "context": None}
    with pytest.raises(DialensError, match="a golden without an output holds nothing"):
        told(tmp_path / "goldens.jsonl", [golden])


# --- what is none of these


@pytest.mark.parametrize(
    ("record", "format"),
    [
        ({"messages": MESSAGES}, "openai"),
        ({"id": "1", "model": "m", "messages": MESSAGES, "metadata": {"x": 1}}, "openai"),
        ({"conversations": [{"from": "human", "value": "Hi"}]}, "sharegpt"),
    ],
)
def test_other_formats_are_left_to_their_readers(
    record: dict[str, Any], format: str, tmp_path: Path
) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_bytes(lines_of([record]))
    assert choose(Source(path), None, readers()).name == format


@pytest.mark.parametrize(
    "record",
    [
        {"id": 1, "input": "x", "output": "y"},
        {"prompt": "x", "response": "y"},
        {"request": "GET /", "response": "200"},
        {"data": [{"x": 1}]},
        {"results": [1, 2]},
        {"attributes": {"colour": "red"}, "id": 3},
    ],
    ids=lambda record: "-".join(record),
)
def test_what_only_looks_alike_is_not_claimed(record: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(lines_of([record]))
    ours = ("inspect", "spans", "langfuse", "langsmith", "langchain", "promptfoo", "api-logs")
    claimed = [reader.name for reader in readers() if reader.recognises(Source(path))]
    assert not set(claimed) & {*ours, "deepeval"}
