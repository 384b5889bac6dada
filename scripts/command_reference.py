"""Write docs/commands.md from the commands themselves.

python scripts/command_reference.py            writes it
python scripts/command_reference.py --check    says whether it is current
"""

import enum
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from dialens.cli._app import app
from dialens.cli._lazy import LazyCommand

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
_HEAD = """# Commands

Every command with its arguments and options, made from the commands themselves by
`scripts/command_reference.py`. `dialens COMMAND --help` says the same on the terminal.

`dialens --install-completion` teaches your shell to complete commands, options, and the names of
metrics, formats, templates and models.
"""
_EXAMPLES = re.compile(r"\[bold\]Examples?\[/\]\n")
_VALUES = {
    "<str>": "TEXT",
    "<path>": "PATH",
    "<int>": "NUMBER",
    "<float>": "NUMBER",
    "<int range>": "NUMBER",
    "<float range>": "NUMBER",
}
_MARKUP = re.compile(r"\[/?(?:bold|italic|dim)?\]")


def page() -> str:
    """The whole page."""
    root = typer.main.get_command(app)
    return "\n".join([_HEAD, *_group(root, "dialens", depth=2)]).rstrip() + "\n"


def _group(group: Any, path: str, depth: int) -> Iterator[str]:
    for name, command in group.commands.items():
        real = command.loaded() if isinstance(command, LazyCommand) else command
        yield from _command(real, f"{path} {name}", depth)


def _command(command: Any, path: str, depth: int) -> Iterator[str]:
    text, examples = (*_EXAMPLES.split(inspect.cleandoc(command.help or ""), 1), "")[:2]
    yield f"{'#' * depth} {path}\n"
    yield f"{_plain(text.strip())}\n"
    if hasattr(command, "commands"):
        yield from _group(command, path, depth + 1)
        return
    context = typer.Context(command, info_name=path)
    usage = " ".join(["[OPTIONS]", *(_metavar(one, context) for one in _arguments(command))])
    yield f"```text\n{path} {usage}\n```\n"
    yield from _table("argument", [_argument_row(one, context) for one in _arguments(command)])
    yield from _table("option", [_option_row(one, context) for one in _options(command)])
    if examples.strip():
        yield f"```text\n{inspect.cleandoc(examples)}\n```\n"


def _arguments(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "argument"]


def _options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def _table(kind: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    if rows:
        lines = [f"| {left} | {right} |" for left, right in rows]
        yield "\n".join([f"| {kind} | what it is |", "|---|---|", *lines]) + "\n"


def _argument_row(argument: Any, context: Any) -> tuple[str, str]:
    return _code(_metavar(argument, context)), _meaning(argument)


def _option_row(option: Any, context: Any) -> tuple[str, str]:
    names = [*option.opts, *option.secondary_opts]
    value = "" if option.is_flag else f" {_metavar(option, context)}"
    return ", ".join(_code(f"{name}{value}") for name in names), _meaning(option)


def _metavar(parameter: Any, context: Any) -> str:
    """What stands for the value, in capitals, or the values it can have."""
    written = str(parameter.make_metavar(context))
    for ours, word in _VALUES.items():
        written = written.replace(ours, word)
    written = written.strip("<>")
    if parameter.param_type_name == "option" or parameter.metavar:
        return written
    written = written.upper()  # arguments are written as the rest of the help writes them
    return written if parameter.required or written.startswith("[") else f"[{written}]"


def _meaning(parameter: Any) -> str:
    text = _plain(parameter.help or "")
    if getattr(parameter, "required", False):
        return _cell(f"{text} Required." if parameter.param_type_name == "option" else text)
    default = parameter.default
    if isinstance(default, enum.Enum):
        default = default.value
    if default is None or callable(default) or isinstance(default, bool | list | tuple):
        return _cell(text)
    if not str(default):
        return _cell(text)
    return _cell(f"{text} Default: `{default}`.")


def _plain(text: str) -> str:
    """Without the terminal's markup; what looks like HTML is shown as it is."""
    return _MARKUP.sub("", text).replace("<", "&lt;")


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write the page, or say that it is not current."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.name} is not current. Run: python scripts/command_reference.py")


if __name__ == "__main__":
    main()
