"""How the stand-in of an endpoint answers the questions of a study."""

from __future__ import annotations

import json
import math
import re
from random import Random
from typing import Any

CHANCES = {"4": 0.5, "5": 0.25, " 3": 0.125, "Well": 0.0625}
"""What `judge-weighs` would say first."""


def answer(name: str, body: dict[str, Any], shift: int = 0) -> str:
    """The reply of a judge to a request."""
    last = body["messages"][-1]["content"]
    told = any(said["role"] == "assistant" for said in body["messages"])
    if name == "judge-weighs":
        return "4"
    if name == "judge-sorry":
        return "I'm sorry, but I cannot rate what people said."
    generator = Random(body.get("seed", 0))
    wrong = name == "judge-wrong" or (name == "judge-mends" and not told)
    if name == "judge-lines":
        lines = re.findall(r"(?m)^(\S+): (\d+(?: \| \d+)+)$", last)
        return "\n".join(
            f"{one}: {generator.choice(allowed.split(' | '))}" for one, allowed in lines
        )
    if name == "judge-keen":
        screen = last.partition("--- Screen ---")[2].partition("--- Answer ---")[0]
        schema = body["response_format"]["json_schema"]["schema"]
        return json.dumps(dict.fromkeys(schema["properties"], (4 if "!" in screen else 2) + shift))
    wanted = body.get("response_format", {}).get("json_schema", {}).get("schema")
    schema = wanted or {"type": "object", "properties": _from_prompt(last)}
    given = _value(schema, generator, wrong=wrong)
    text = json.dumps(given)
    return (
        f"Here you are:\n```json\n{text}\n```\nAnything else?" if name == "judge-fenced" else text
    )


def _from_prompt(text: str) -> dict[str, Any]:
    """The questions as the prompt words them, where there is no schema."""
    lines = re.findall(r'(?m)^"([^"]+)": (.+)$', text)
    return {
        name: {"enum": json.loads(f"[{form.replace(' | ', ', ')}]")}
        for name, form in lines
        if re.fullmatch(r"\d+(?: \| \d+)*", form)
    }


def _value(schema: dict[str, Any], generator: Random, *, wrong: bool) -> Any:
    if "anyOf" in schema:
        return _value(schema["anyOf"][0], generator, wrong=wrong)
    if "enum" in schema:
        return 99 if wrong else generator.choice(schema["enum"])
    kind = schema["type"]
    if kind == "object":
        made = {
            name: _value(one, generator, wrong=wrong) for name, one in schema["properties"].items()
        }
        if set(made) == {"best", "worst"} and not wrong:
            made = dict(
                zip(made, generator.sample(schema["properties"]["best"]["enum"], 2), strict=True)
            )
        return made
    if kind == "array":
        return generator.sample(schema["items"]["enum"], schema.get("minItems", 1))
    if kind == "string":
        return "I looked at it."
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    return -1 if wrong else low + generator.randint(1, int(schema.get("maximum", low + 150) - low))


def logprobs(most: int) -> dict[str, Any]:
    """As OpenAI reports them."""
    top = [
        {"token": token, "logprob": math.log(chance), "bytes": list(token.encode())}
        for token, chance in list(CHANCES.items())[:most]
    ]
    return {"content": [{**top[0], "top_logprobs": top}], "refusal": None}
