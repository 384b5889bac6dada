"""Settings of agents behind an OpenAI-compatible endpoint, and where the key is."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

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
    frequency_penalty: float | None = setting(None, "Against repetition.", low=-2.0, high=2.0)
    presence_penalty: float | None = setting(None, "Against old topics.", low=-2.0, high=2.0)
    max_tokens: int = setting(0, "The most tokens of an answer; 0 leaves it to the model.", low=0)
    begin: str = setting(
        "Please begin the conversation.", "Said to the model when it is to speak first."
    )
    endpoint: str = setting(
        "", f"Address up to /v1; {URL_VARIABLE} or OpenAI's if not given.", connection=True
    )
    key_variable: str = setting(
        "",
        f"Environment variable with the key; {KEY_VARIABLE} for OpenAI and {URL_VARIABLE}, "
        "none for another endpoint.",
        connection=True,
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


def endpoint_of(settings: EndpointSettings, environment: Mapping[str, str]) -> str:
    """The address of the endpoint, without a slash at its end.

    Examples:
        >>> endpoint_of(EndpointSettings(), {})
        'https://api.openai.com/v1'
        >>> endpoint_of(EndpointSettings(endpoint="https://me:secret@host/v1"), {})
        Traceback (most recent call last):
        ...
        dialens.DialensError: The endpoint's address holds a name or password. ...
    """
    found = settings.endpoint or environment.get(URL_VARIABLE, "").strip() or OPENAI
    where = "endpoint" if settings.endpoint else URL_VARIABLE
    try:
        parts = urlsplit(found)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise DialensError(f"{where} is not an address such as {OPENAI}.") from None
    # Never shown: an address may carry a secret, and a plan and a manifest are passed on.
    if parts.username or parts.password:
        raise DialensError(
            "The endpoint's address holds a name or password. Put the key into an environment "
            "variable and name it with key_variable."
        )
    if parts.query or parts.fragment:
        raise DialensError(
            f"{where} holds a query (after ? or #). Give the address up to /v1; a key belongs "
            "into an environment variable."
        )
    if not sound:
        raise DialensError(f"{where} is not an address such as {OPENAI}; seen: {found!r}.")
    return found.rstrip("/")


def key_of(settings: EndpointSettings, environment: Mapping[str, str]) -> str:
    """The key, or an empty text where none is to be sent.

    A key is sent to where it belongs: the usual variable holds OpenAI's, so that an endpoint named
    in somebody's plan gets no key unless its variable is named too.

    Examples:
        >>> key_of(EndpointSettings(), {"OPENAI_API_KEY": "k"})
        'k'
        >>> key_of(EndpointSettings(endpoint="http://localhost:8000/v1"), {"OPENAI_API_KEY": "k"})
        ''
    """
    named = settings.key_variable
    if named and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", named):
        raise DialensError(
            "key_variable is not the name of an environment variable. If it is the key itself, "
            f"take it out: set an environment variable such as {KEY_VARIABLE} to it."
        )
    if not named and settings.endpoint and settings.endpoint.rstrip("/") != OPENAI:
        return ""
    key = environment.get(named or KEY_VARIABLE, "").strip()
    if not key and (named or endpoint_of(settings, environment) == OPENAI):
        raise DialensError(
            f"There is no key in {named or KEY_VARIABLE}. Set that environment variable to the "
            "endpoint's key."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise DialensError(f"{named or KEY_VARIABLE} does not hold a key: it has odd characters.")
    return key


def what_is_missing(kind: str, environment: Mapping[str, str] | None = None) -> str:
    """What keeps the endpoint of the environment from being asked; empty if nothing does.

    Examples:
        >>> what_is_missing("openai", {})
        'OPENAI_API_KEY is not set (endpoints of your own may do without)'
    """
    known = os.environ if environment is None else environment
    if known.get(KEY_VARIABLE, "").strip() or known.get(URL_VARIABLE, "").strip():
        return ""
    return f"{KEY_VARIABLE} is not set (endpoints of your own may do without)"
