"""Settings of agents behind an OpenAI-compatible endpoint."""

import json
from dataclasses import dataclass

from dialens.agents._pieces import LONGEST
from dialens.agents._settings import setting
from dialens.base import DialensError

OPENAI = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"


@dataclass(frozen=True)
class EndpointSettings:
    """How the model talks, and how it is reached."""

    persona: str = setting("", "Who the agent is; the first part of the system message.")
    instruction: str = setting("", "How it is to talk; the second part of the system message.")
    temperature: float | None = setting(None, "Of sampling.", low=0.0, high=2.0)
    top_p: float | None = setting(None, "Nucleus of sampling.", low=0.0, high=1.0)
    top_k: int = setting(0, "Tokens to draw from; 0 leaves it to the model.", low=0)
    min_p: float | None = setting(
        None, "Least chance of a token, by that of the likeliest.", low=0.0, high=1.0
    )
    frequency_penalty: float | None = setting(None, "Against repetition.", low=-2.0, high=2.0)
    presence_penalty: float | None = setting(None, "Against old topics.", low=-2.0, high=2.0)
    max_tokens: int = setting(0, "The most tokens of an answer; 0 leaves it to the model.", low=0)
    stop: str = setting("", 'Where an answer ends: a text, or several as ["A:", "B:"].')
    reasoning_effort: str = setting(
        "auto",
        "How long a reasoning model thinks; auto leaves it to the model.",
        choices=("auto", "none", "minimal", "low", "medium", "high", "xhigh"),
    )
    tools: str = setting("", "A YAML or JSON file of tools that the model may call.", file=True)
    most_calls: int = setting(8, "Calls of tools for one answer.", low=1, high=1000)
    extra_body: str = setting(
        "", "Further fields of the request: a JSON object, or a file with one.", file=True
    )
    begin: str = setting(
        "Please begin the conversation.", "Said to the model when it is to speak first."
    )
    endpoint: str = setting(
        "",
        f"Address up to /v1, or of an Azure deployment with its ?api-version=…; {URL_VARIABLE} or "
        "OpenAI's if not given.",
        connection=True,
    )
    key_variable: str = setting(
        "",
        f"Environment variable with the key; {KEY_VARIABLE} for OpenAI and {URL_VARIABLE}, "
        "none for another endpoint.",
        connection=True,
    )
    key_header: str = setting(
        "",
        "Header of the key; api-key for Azure, and Authorization (Bearer) for others, if not "
        "given.",
        connection=True,
    )
    headers: str = setting(
        "",
        "Further headers: a JSON object, or a file with one; env:VARIABLE stands for the value of "
        "an environment variable.",
        connection=True,
        file=True,
    )
    send_seed: bool = setting(True, "Send the seed of the conversation.", connection=True)
    price_in: float | None = setting(
        None, "Price of a million tokens read.", low=0.0, connection=True
    )
    price_out: float | None = setting(
        None, "Price of a million tokens written.", low=0.0, connection=True
    )
    requests_per_minute: float = setting(
        0.0, "The most requests a minute; 0 for no limit.", low=0.0, connection=True
    )
    tokens_per_minute: float = setting(
        0.0, "The most tokens a minute; 0 for no limit.", low=0.0, connection=True
    )
    connect_timeout: float = setting(
        10.0, "Seconds to reach the endpoint.", low=0.01, connection=True
    )
    read_timeout: float = setting(
        60.0, "Seconds without a sign of life.", low=0.01, connection=True
    )
    total_timeout: float = setting(
        180.0, "Seconds for an answer, all attempts together.", low=0.01, connection=True
    )
    attempts: int = setting(
        5, "How often a request is made before giving up.", low=1, high=100, connection=True
    )
    longest_reply: int = setting(
        LONGEST, "Characters of the longest answer accepted.", low=1, connection=True
    )


def stop_words(given: str) -> list[str]:
    """Where answers end: a text, or a JSON list of them.

    Examples:
        >>> stop_words("END"), stop_words('["A:", "B:"]'), stop_words("[END]")
        (['END'], ['A:', 'B:'], ['[END]'])
    """
    if not given.startswith("["):
        return [given]
    try:
        found = json.loads(given)
    except ValueError:
        return [given]
    if not found or not all(isinstance(one, str) and one for one in found):
        raise DialensError("stop takes a text, or a JSON list of texts; seen: something else.")
    return list(found)
