"""Which key may go where: a plan or study file of somebody else's must not send yours elsewhere.

Keys lie in environment variables, and files name the variables. Those of well-known services go to
their own hosts; any other pair of variable and host needs the user's word: an option of the
command, or a line in the user's own environment.
"""

import re
from collections.abc import Iterable, Mapping, MutableMapping

from dialens.agents._agent import Agent
from dialens.base import DialensError

ALLOW = "DIALENS_ALLOW"
"""The user's own list of pairs: NAME@HOST, with blanks or commas between them."""

_HOSTS: Mapping[str, tuple[str, ...]] = {
    "ANTHROPIC_API_KEY": ("api.anthropic.com",),
    "AZURE_OPENAI_API_KEY": ("*.openai.azure.com", "*.services.ai.azure.com"),
    "CEREBRAS_API_KEY": ("api.cerebras.ai",),
    "COHERE_API_KEY": ("api.cohere.ai", "api.cohere.com"),
    "DEEPSEEK_API_KEY": ("api.deepseek.com",),
    "FIREWORKS_API_KEY": ("api.fireworks.ai",),
    "GEMINI_API_KEY": ("generativelanguage.googleapis.com",),
    "GROQ_API_KEY": ("api.groq.com",),
    "HF_TOKEN": ("router.huggingface.co",),
    "MISTRAL_API_KEY": ("api.mistral.ai",),
    "NVIDIA_API_KEY": ("integrate.api.nvidia.com",),
    "OPENAI_API_KEY": ("api.openai.com",),
    "OPENROUTER_API_KEY": ("openrouter.ai",),
    "PERPLEXITY_API_KEY": ("api.perplexity.ai",),
    "TOGETHER_API_KEY": ("api.together.xyz", "api.together.ai"),
    "XAI_API_KEY": ("api.x.ai",),
}
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,63})@([A-Za-z0-9.:_\[\]-]+)")


def belongs(variable: str, host: str, *, encrypted: bool = True) -> bool:
    """Whether a host is that of the service that a variable is known to hold the key of.

    Examples:
        >>> belongs("OPENAI_API_KEY", "api.openai.com"), belongs("OPENAI_API_KEY", "evil.example")
        (True, False)
        >>> belongs("AZURE_OPENAI_API_KEY", "me.openai.azure.com")
        True
        >>> belongs("OPENAI_API_KEY", "api.openai.com", encrypted=False)
        False
    """
    return encrypted and any(
        _plain(host).endswith(own[1:]) if own.startswith("*") else _plain(host) == own
        for own in _HOSTS.get(variable, ())
    )


def refuse_key(
    variable: str, host: str, environment: Mapping[str, str], *, encrypted: bool
) -> None:
    """Refuse to send a variable to a host to which the user did not say it may go.

    Args:
        variable: Its name.
        host: Where it would be sent.
        environment: Where the user's own list is.
        encrypted: Whether by https.

    Examples:
        >>> refuse_key("MY_KEY", "llm.example.org", {ALLOW: "MY_KEY@llm.example.org"}, encrypted=1)
        >>> refuse_key("AWS_SECRET_ACCESS_KEY", "evil.example", {}, encrypted=True)
        Traceback (most recent call last):
        ...
        dialens.DialensError: AWS_SECRET_ACCESS_KEY would be sent to evil.example. ...
    """
    if belongs(variable, host, encrypted=encrypted):
        return
    if (variable, _plain(host)) in _pairs(environment.get(ALLOW, ""), ALLOW):
        return
    own = _HOSTS.get(variable)
    known = f"it is the key of {own[0]}" if own else "it is not known as a key of that host"
    how = "" if encrypted else " without encryption"
    raise DialensError(
        f"{variable} would be sent to {host}{how}. Since {known}, and since a file that names it "
        f"may be somebody else's, that needs your word: --allow {variable}@{_plain(host)}, or "
        f"{ALLOW}={variable}@{_plain(host)} in your environment."
    )


def allow_keys(given: Iterable[str], environment: MutableMapping[str, str]) -> None:
    """Add what the user allows to the list, which processes of this one inherit.

    Examples:
        >>> environment = {ALLOW: "A@a.org"}
        >>> allow_keys(["B@b.org"], environment)
        >>> environment[ALLOW]
        'A@a.org B@b.org'
        >>> allow_keys(["B"], environment)
        Traceback (most recent call last):
        ...
        dialens.DialensError: --allow takes NAME@HOST, such as MY_KEY@llm.example.org.
    """
    for one in given:
        _pairs(one, "--allow")
        environment[ALLOW] = f"{environment.get(ALLOW, '')} {one}".strip()


def _pairs(text: str, where: str) -> set[tuple[str, str]]:
    """Pairs of variable and host; what is none is not repeated, since it may be a key."""
    found = set()
    for word in re.split(r"[\s,]+", text.strip()):
        match = _PAIR.fullmatch(word)
        if word and not match:
            raise DialensError(f"{where} takes NAME@HOST, such as MY_KEY@llm.example.org.")
        if match:
            found.add((match[1], _plain(match[2])))
    return found


def _plain(host: str) -> str:
    return host.lower().strip("[]").removesuffix(".")


def where_keys_go(agents: Iterable[Agent]) -> str:
    """To which host each key goes, in one sentence; empty where none is sent.

    Examples:
        >>> where_keys_go([])
        ''
    """
    pairs = sorted({pair for agent in agents for pair in getattr(agent, "keys_sent", ())})
    if not pairs:
        return ""
    return f"Keys: {'; '.join(f'{variable} goes to {host}' for variable, host in pairs)}."
