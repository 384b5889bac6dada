"""Messages about reading in the words of Python: arguments in place of options of a command."""

import re
import shlex

_VALUE = r"(?:'[^']*'|[^\s(),;]+)"
_COLUMNS = re.compile(rf"--column [a-z_]+={_VALUE}(?: --column [a-z_]+={_VALUE})*")
_ROLES = re.compile(rf"--role [a-z]+={_VALUE}(?: --role [a-z]+={_VALUE})*")
_PLAIN = (
    ("--on-error skip", 'on_error="skip"'),
    ("with --format;", "with `format=`;"),
    ("--format", "`format=`"),
    ("--column takes OURS=THEIRS with OURS one of", "`columns` takes {OURS: THEIRS}, OURS one of"),
    ("--role takes ROLE=NAME with ROLE agent or user", "`roles` takes {NAME: ROLE}, agent or user"),
    ("--role ", "`roles` "),
    ("--column ", "`columns` "),
)


def in_python(text: str) -> str:
    """A message with arguments of `read` where it names options.

    Examples:
        >>> in_python("Say which: --column text=… --column dialog='Conversation ID' (or not)")
        'Say which: columns={"text": "…", "dialog": "Conversation ID"} (or not)'
        >>> in_python("Say who: --role agent=Bot, or leave it out with --on-error skip.")
        'Say who: roles={"Bot": "agent"}, or leave it out with on_error="skip".'
    """
    text = _COLUMNS.sub(lambda match: f"columns={_mapping(match.group(), turned=False)}", text)
    text = _ROLES.sub(lambda match: f"roles={_mapping(match.group(), turned=True)}", text)
    for option, argument in _PLAIN:
        text = text.replace(option, argument)
    return text


def _mapping(options: str, *, turned: bool) -> str:
    dot = "." if options.endswith(".") else ""
    entries = []
    for entry in shlex.split(options.removesuffix("."))[1::2]:
        ours, _, theirs = entry.partition("=")
        key, value = (theirs, ours) if turned else (ours, theirs)
        entries.append(f'"{key}": "{value}"')
    return "{" + ", ".join(entries) + "}" + dot
