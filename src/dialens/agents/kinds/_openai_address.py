"""Where an endpoint is, which key goes there, and in which header: OpenAI's, others', Azure's."""

import os
import re
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit, urlunsplit

from dialens.agents.kinds._openai_settings import (
    KEY_VARIABLE,
    OPENAI,
    URL_VARIABLE,
    EndpointSettings,
)
from dialens.base import DialensError

_AZURE = ".azure.com"
_DEPLOYMENT = re.compile(r"/openai/deployments/[^/]+$")
_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(?:-preview)?|preview|latest|v1")
_NEW_NAMES_SINCE = "2025"


def endpoint_of(settings: EndpointSettings, environment: Mapping[str, str]) -> str:
    """The address of the endpoint, without a slash at its end; a version stands behind it.

    Examples:
        >>> endpoint_of(EndpointSettings(), {})
        'https://api.openai.com/v1'
        >>> azure = "https://me.openai.azure.com/openai/deployments/mini/?api-version=2024-10-21"
        >>> endpoint_of(EndpointSettings(endpoint=azure), {})
        'https://me.openai.azure.com/openai/deployments/mini?api-version=2024-10-21'
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
    version = _version(parts.query, where)
    if parts.fragment or (parts.query and not version):
        raise DialensError(
            f"{where} holds a query (after ? or #). Give the address up to /v1, or with nothing "
            "but ?api-version=…; a key belongs into an environment variable."
        )
    if not sound:
        raise DialensError(f"{where} is not an address such as {OPENAI}; seen: {found!r}.")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    if _DEPLOYMENT.search(path) and not version:
        raise DialensError(
            f"{where} is that of an Azure deployment, which needs a version: …{path}"
            "?api-version=2024-10-21. The newer address, …/openai/v1, needs none."
        )
    return urlunsplit((parts.scheme, parts.netloc, path, version, ""))


def _version(query: str, where: str) -> str:
    """The version that an address asks for, as its query; empty if there is anything else."""
    asked = parse_qs(query, keep_blank_values=True)
    if list(asked) != ["api-version"]:
        return ""
    version = asked["api-version"][-1]
    if not _VERSION.fullmatch(version):
        raise DialensError(
            f"{where} has an api-version that is none: a date is expected, such as 2024-10-21."
        )
    return f"api-version={version}"


def completions_of(endpoint: str) -> str:
    """Where chat completions are asked for.

    Examples:
        >>> completions_of("https://api.openai.com/v1")
        'https://api.openai.com/v1/chat/completions'
        >>> completions_of("https://h/openai/deployments/mini?api-version=2024-10-21")
        'https://h/openai/deployments/mini/chat/completions?api-version=2024-10-21'
    """
    parts = urlsplit(endpoint)
    return urlunsplit(parts._replace(path=f"{parts.path}/chat/completions"))


def takes_new_names(endpoint: str) -> bool:
    """Whether the most tokens are called `max_completion_tokens` there.

    Azure's deployments take it for all models since the versions of 2025.

    Examples:
        >>> takes_new_names("https://api.openai.com/v1"), takes_new_names("http://localhost/v1")
        (True, False)
    """
    if not _is_azure(endpoint):
        return endpoint == OPENAI
    dated = re.search(r"api-version=(\d{4})", endpoint)
    return dated is None or dated[1] >= _NEW_NAMES_SINCE


def _is_azure(endpoint: str) -> bool:
    parts = urlsplit(endpoint)
    return (parts.hostname or "").endswith(_AZURE) or bool(_DEPLOYMENT.search(parts.path))


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
    named = key_variable_of(settings)
    if not named:
        return ""
    key = environment.get(named, "").strip()
    if not key and (settings.key_variable or endpoint_of(settings, environment) == OPENAI):
        raise DialensError(
            f"There is no key in {named}. Set that environment variable to the endpoint's key."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise DialensError(f"{named} does not hold a key: it has odd characters.")
    return key


def key_variable_of(settings: EndpointSettings) -> str:
    """The environment variable with the key; empty where none is sent."""
    named = settings.key_variable
    if named and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", named):
        raise DialensError(
            "key_variable is not the name of an environment variable. If it is the key itself, "
            f"take it out: set an environment variable such as {KEY_VARIABLE} to it."
        )
    if not named and settings.endpoint and settings.endpoint.rstrip("/") != OPENAI:
        return ""
    return named or KEY_VARIABLE


def key_header(settings: EndpointSettings, endpoint: str, key: str) -> dict[str, str]:
    """The header that the key goes into; none without a key.

    Examples:
        >>> key_header(EndpointSettings(), "https://api.openai.com/v1", "k")
        {'Authorization': 'Bearer k'}
        >>> key_header(EndpointSettings(), "https://me.openai.azure.com/openai/v1", "k")
        {'api-key': 'k'}
    """
    if not key:
        return {}
    name = settings.key_header or ("api-key" if _is_azure(endpoint) else "Authorization")
    return {name: f"Bearer {key}" if name.lower() == "authorization" else key}


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
