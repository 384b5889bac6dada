"""What else goes into a request: fields of the body and headers, as a JSON object or a file."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialens.agents._settings import in_file
from dialens.base import DialensError, read_yaml

ENV = "env:"
"""Before the name of an environment variable that holds a header's value."""

_SECRET = re.compile(
    r"(?i)(?:^|[-_])(?:authorization|api[-_]?key|key|token|secret|password|cookie|credentials?)$"
)
_SECRET_VALUE = re.compile(
    r"(?i)bearer\s|basic\s|[srp]k-|gsk_|hf_|xox[abp]-|github_pat_|gh[opsu]_|glpat-|AKIA|eyJ[\w-]+\."
)
_SECRET_FIELD = re.compile(
    r"(?i)(?:^|[-_])(?:authorization|api[-_]?key|(?:access|auth)[-_]token|secret|password)$"
)
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "tools", "n", "seed", "stop"),
        *("temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty"),
        *("max_tokens", "max_completion_tokens", "reasoning_effort"),
        *("response_format", "logprobs", "top_logprobs"),
    }
)
_FIXED = frozenset({"content-type", "content-length", "host", "transfer-encoding", "connection"})


def read_body(given: str) -> dict[str, Any]:
    """Fields of the body that no setting is for.

    Examples:
        >>> read_body('{"chat_template_kwargs": {"enable_thinking": false}}')
        {'chat_template_kwargs': {'enable_thinking': False}}
        >>> read_body('{"messages": []}')
        Traceback (most recent call last):
        ...
        dialens.DialensError: extra_body holds 'messages', which dialens sends itself. ...
    """
    body = _object(given, "extra_body")
    for name in body:
        if name in _OWN:
            raise DialensError(
                f"extra_body holds {name!r}, which dialens sends itself. Use the setting of that "
                "name where there is one (`dialens agents kinds openai`), and take it out there."
            )
    _refuse_secrets(body)
    return body


def _refuse_secrets(value: Any) -> None:
    """Bodies stand in plans and manifests, which are passed on."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, str) and (
            _SECRET_FIELD.search(str(name)) or _SECRET_VALUE.match(inner)
        ):
            raise DialensError(
                f"extra_body holds {name!r}, which looks like a secret. Send it in a header: "
                f"headers={{{name!r}: '{ENV}VARIABLE'}}."
            )
        _refuse_secrets(inner)
    for inner in value if isinstance(value, list) else ():
        _refuse_secrets(inner)


def is_header_name(name: str) -> bool:
    """Whether a header may be called so.

    Examples:
        >>> is_header_name("api-key"), is_header_name("api key")
        (True, False)
    """
    return _NAME.fullmatch(name) is not None


def read_headers(given: str) -> dict[str, str]:
    """Headers as they were written: a value, or `env:VARIABLE`.

    Values are not shown in errors: one may be a secret.

    Examples:
        >>> read_headers('{"X-Team": "blue", "X-Api-Key": "env:GATEWAY_KEY"}')
        {'X-Team': 'blue', 'X-Api-Key': 'env:GATEWAY_KEY'}
    """
    headers = _object(given, "headers")
    for name, value in headers.items():
        if not is_header_name(name):
            raise DialensError(f"headers: {name!r} is not the name of a header.")
        if name.lower() in _FIXED:
            raise DialensError(f"headers: {name} is set by the connection. Take it out.")
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise DialensError(f"headers: {name} takes a line of plain text, or {ENV}VARIABLE.")
        if value.startswith(ENV):
            if not _VARIABLE.fullmatch(value.removeprefix(ENV)):
                raise DialensError(
                    f"headers: {name}: what follows {ENV} is not the name of an environment "
                    "variable."
                )
        elif _SECRET.search(name) or _SECRET_VALUE.match(value):
            raise DialensError(
                f"headers: {name} looks like a secret. Put it into an environment variable and "
                f"write {ENV}VARIABLE: settings are passed on with what is collected."
            )
    return headers


def header_values(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Headers with the values of their variables.

    Examples:
        >>> header_values({"X-Key": "env:K", "X-Team": "blue"}, {"K": "s3cret"})
        {'X-Key': 's3cret', 'X-Team': 'blue'}
    """
    values = {}
    for name, value in headers.items():
        if value.startswith(ENV):
            variable = value.removeprefix(ENV)
            value = environment.get(variable, "").strip()
            if not value:
                raise DialensError(
                    f"headers: {name} is to come from {variable}, and that environment variable is "
                    "not set."
                )
            if not value.isascii() or not value.isprintable():
                raise DialensError(f"headers: {variable} has characters that no header takes.")
        values[name] = value
    return values


def variables_in(headers: Mapping[str, str]) -> list[str]:
    """Environment variables that headers come from.

    Examples:
        >>> variables_in({"X-Key": "env:K", "X-Team": "blue"})
        ['K']
    """
    return [value.removeprefix(ENV) for value in headers.values() if value.startswith(ENV)]


def secrets_in(headers: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """Values of headers that come from the environment."""
    values = (environment.get(name, "").strip() for name in variables_in(headers))
    return [value for value in values if value]


def _object(given: str, setting: str) -> dict[str, Any]:
    """A JSON object, written out or in a file."""
    if not given.strip():
        return {}
    if in_file(given):
        found: Any = read_yaml(Path(given))[0]
    else:
        try:
            found = json.loads(given)
        except ValueError as error:
            raise DialensError(f"{setting} is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise DialensError(f"{setting} takes a JSON object ({{…}}), or a file with one.")
    return {str(name): value for name, value in found.items()}
