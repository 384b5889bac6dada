"""`dialens models`: which models there are, how good they are, whether their files are whole."""

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from dialens.base import DialensError, Estimate, did_you_mean, listed
from dialens.cli._completion import model_names
from dialens.cli._options import shown
from dialens.cli._terminal import marked_console, plain_table
from dialens.models import (
    GET_LARGER,
    GET_TRAITS,
    Catalogue,
    CatalogueEntry,
    FileCheck,
    catalogue,
    has_larger_models,
    has_trait_models,
    is_shipped,
)
from dialens.models import verify as verify_files

_LOADED_BY = {
    "encoder": 'dialens.models.load("{name}")',
    "trait": 'dialens.models.traits.load("{name}")',
    "topics": "dialens.models.topics.load()",
}
_OWN_LOADED_BY = {
    "encoder": 'dialens.models.load("{folder}", "{task}")',
    "trait": 'dialens.models.traits.load("{folder}")',
    "topics": 'dialens.models.topics.load("{folder}")',
    "classifier": 'dialens.models.load("{folder}")',
}
_COUNTED = {"n": "texts", "persons": "people"}
_MOST_LABELS = 40
_MOST_FIGURES = 60


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FOLDER]",
            help="Show this model's card, or your own folder.",
            autocompletion=model_names,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every file against the hash in its card.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """List the models with their figures, verify their files, or show the card of one.

    Every file is held against the SHA-256 in its card. A file that is damaged or missing is named,
    and the command ends with status 1.

    [bold]Examples[/]

      dialens models
      dialens models --verify
      dialens models agreeableness
      dialens models my/folder --json
    """
    found, chosen, checks = _find(name)
    if as_json:
        print(json.dumps(_plain(chosen, found, checks), indent=2, ensure_ascii=False))
    elif name is not None and len(found.folders) == 1 and chosen:
        for entry in chosen:
            _print_card(entry, checks)
    else:
        _print_list(chosen, checks)
    problems = [check for check in checks if check.problem]
    if not as_json:
        if verify:
            _print_files(checks)
        _print_verdict(checks, problems)
    if problems:
        raise typer.Exit(1)


def _find(name: str | None) -> tuple[Catalogue, list[CatalogueEntry], list[FileCheck]]:
    """The catalogue, what was asked for in it, and the checks of the files of that."""
    known = catalogue()
    if name is None:
        return known, list(known.entries), verify_files()
    chosen = [entry for entry in known.entries if name in _names(entry)]
    broken = {place: why for place, why in known.unreadable.items() if name == place.name}
    if chosen or broken:
        folders = {*(entry.folder for entry in chosen), *broken}
        checks = [check for check in verify_files() if check.folder in folders]
        return Catalogue(tuple(chosen), broken), chosen, checks
    folder = Path(name)
    if folder.is_dir():
        own = catalogue(folder)
        return own, list(own.entries), verify_files(folder)
    names = [entry.name for entry in known.entries]
    raise DialensError(
        f"There is no model {name!r}, and no such folder. {did_you_mean(name, names)}"
        f"Models: {', '.join(names)}. {_not_installed()}".rstrip()
    )


def _not_installed() -> str:
    """Which packages hold more models; empty where all are installed."""
    more = [] if has_larger_models() else [f"the larger ones ({GET_LARGER})"]
    more += [] if has_trait_models() else [f"most traits, for research only ({GET_TRAITS})"]
    return f"Not installed: {listed(more)}." if more else ""


def _names(entry: CatalogueEntry) -> set[str]:
    """Everything a person may call it; the folder stands for all its tasks."""
    return {entry.name, f"{entry.task}-{entry.folder.name}", entry.folder.name}


def _print_list(entries: list[CatalogueEntry], checks: list[FileCheck]) -> None:
    table = plain_table()
    for head in ("model", "size", "files", "figure, 95 % interval", "reads", "terms"):
        table.add_column(head, no_wrap=head in ("model", "size", "terms"), overflow="fold")
    problems = Counter(check.folder for check in checks if check.problem)
    kind = None
    for entry in entries:
        if entry.kind != kind:
            kind = entry.kind
            table.add_section()
            table.add_row(f"[bold]{escape(_kind(kind))}[/]")
        state = "[red]damaged[/]" if problems[entry.folder] else "ok"
        if not entry.files:
            state = "no card"
        table.add_row(
            escape(entry.name) + (" [dim](default)[/]" if _is_choice(entry, entries) else ""),
            _megabytes(entry.size),
            state,
            escape(f"part of {entry.part_of}") if entry.part_of else _headline(entry),
            escape(entry.reads),
            "[yellow]research[/]"
            if entry.research_grade
            else escape(entry.licence or "not stated"),
        )
    marked_console().print(table)
    print(
        "\nresearch: for research only. Tasks of one folder share its size. "
        "Cards: dialens models NAME. In Python:"
    )
    for each in dict.fromkeys(entry.kind for entry in entries):
        first = next(entry for entry in entries if entry.kind == each)
        print(f"  {_loaded_by(first)}")
    if any(is_shipped(entry.folder) for entry in entries) and _not_installed():
        print(_not_installed())


def _is_choice(entry: CatalogueEntry, entries: list[CatalogueEntry]) -> bool:
    """Whether it is the default among several of its task."""
    return entry.default and sum(other.task == entry.task for other in entries) > 1


def _kind(kind: str) -> str:
    names = {"encoder": "encoders", "trait": "traits", "classifier": "your classifier"}
    return names.get(kind, kind)


def _loaded_by(entry: CatalogueEntry) -> str:
    ways = _LOADED_BY if is_shipped(entry.folder) else _OWN_LOADED_BY
    return ways[entry.kind].format(name=entry.name, task=entry.task, folder=shown(entry.folder))


def _headline(entry: CatalogueEntry) -> str:
    if entry.headline is None:
        return "none in the card"
    value, interval = _figure(entry.figures[entry.headline])
    return escape(f"{_words(entry.headline)} {value}{f' [{interval}]' if interval else ''}")


def _figure(figure: Estimate) -> tuple[str, str]:
    """The value and its interval as text; empty where the card gives none."""
    value = figure.value or 0.0
    digits = ",.0f" if abs(value) >= 100 else ".3f"
    interval = f"{figure.low:{digits}}, {figure.high:{digits}}" if figure.has_interval else ""
    return f"{value:{digits}}", interval


def _words(name: str) -> str:
    """The name of a figure as a person says it.

    Examples:
        >>> _words("r_person"), _words("better: engagement, pearson")
        ('r by person', 'better: engagement, pearson')
    """
    plain = {"r_person": "r by person", "r_text": "r by text"}
    return plain.get(name, name.replace("_", " "))


def _megabytes(size: int) -> str:
    """A size to read.

    Examples:
        >>> _megabytes(85_072_128), _megabytes(76_011)
        ('85.1 MB', '0.08 MB')
    """
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e6:.2f} MB"


def _print_card(entry: CatalogueEntry, checks: list[FileCheck]) -> None:
    console = marked_console()
    facts = Table(show_header=False, box=None, pad_edge=False, title_justify="left")
    facts.title = f"[bold]{escape(entry.name)}[/]"
    facts.add_column(no_wrap=True, style="dim")
    facts.add_column(overflow="fold")
    for key, value in _facts(entry).items():
        facts.add_row(key, escape(value))
    for check in (check for check in checks if check.folder == entry.folder):
        hash_of = entry.files.get(check.file, "")[:12]
        facts.add_row("file", escape(f"{check.file}  sha256 {hash_of}…  {check.problem or 'ok'}"))
    console.print(facts)
    if entry.figures:
        table = plain_table("figure", "value", "95 % interval", "n")
        for name, figure in islice(entry.figures.items(), _MOST_FIGURES):
            n = f"{figure.n:,}" if figure.n is not None else ""
            table.add_row(escape(_words(name)), *_figure(figure), n)
        console.print("", table)
        if len(entry.figures) > _MOST_FIGURES:
            print(f"… and {len(entry.figures) - _MOST_FIGURES} more in card.json")
    if entry.missing:
        print(f"\nThe card does not say: {', '.join(entry.missing).replace('_', ' ')}")
    print()


def _facts(entry: CatalogueEntry) -> dict[str, str]:
    labels = ", ".join(entry.labels[:_MOST_LABELS])
    more = len(entry.labels) - _MOST_LABELS
    card = entry.card
    facts = {
        "task": entry.task,
        "part of": entry.part_of,
        "kind": entry.kind,
        "in Python": _loaded_by(entry),
        "reads": entry.reads,
        "gives": labels + (f" and {more} more" if more > 0 else ""),
        "intended use": entry.intended_use,
        "limits": entry.limits,
        "grade": "for research only" if entry.research_grade else "",
        "licence": entry.licence,
    }
    for number, source in enumerate(entry.data):
        about = [f"{source.get('name', '?')}"]
        about += [f"for {source['use']}"] if source.get("use") else []
        about += [f"licence: {source.get('licence', 'not stated')}"]
        about += [f"{source[key]:,} {what}" for key, what in _COUNTED.items() if source.get(key)]
        facts["data" + " " * number] = "; ".join(about)
    facts |= {
        "base model": str(card.get("base_model", "")),
        "features": str(card.get("features", "")),
        "validation": str(card.get("validation", "")),
        "command": entry.command,
        "seed": "" if entry.seed is None else str(entry.seed),
        "format": str(card.get("format", "")),
        "size": _megabytes(entry.size),
        "folder": shown(entry.folder),
    }
    return {key: value for key, value in facts.items() if value}


def _print_files(checks: list[FileCheck]) -> None:
    print()
    for check in checks:
        print(
            f"{'ok     ' if check.problem is None else 'REFUSED'} {check.folder.name}/{check.file}"
        )


def _print_verdict(checks: list[FileCheck], problems: list[FileCheck]) -> None:
    if not checks:
        print("There is no card, so there is no hash to hold the files against.")
    elif not problems:
        what = "the file is" if len(checks) == 1 else f"all {len(checks)} files are"
        print(f"Verified: {what} what the card says (SHA-256).")
    for check in problems:
        print(f"{check.folder.name}: {check.problem}")
    if problems:
        print(f"{len(problems)} of {len(checks)} files are not what their cards say.")


def _plain(
    entries: list[CatalogueEntry], found: Catalogue, checks: list[FileCheck]
) -> dict[str, Any]:
    def facts(entry: CatalogueEntry) -> dict[str, Any]:
        return {
            "name": entry.name,
            "kind": entry.kind,
            "task": entry.task,
            "model": entry.folder.name,
            "default": entry.default,
            "part_of": entry.part_of or None,
            "reads": entry.reads,
            "labels": list(entry.labels),
            "size": entry.size,
            "headline": entry.headline
            and _plain_figure(entry.headline, entry.figures[entry.headline]),
            "figures": [_plain_figure(name, figure) for name, figure in entry.figures.items()],
            "licence": entry.licence,
            "research_grade": entry.research_grade,
            "data": [dict(source) for source in entry.data],
            "command": entry.command,
            "seed": entry.seed,
            "intended_use": entry.intended_use,
            "limits": entry.limits,
            "missing": list(entry.missing),
        }

    return {
        "models": [facts(entry) for entry in entries],
        "unreadable": {place.name: why for place, why in found.unreadable.items()},
        "files": [
            {"model": check.folder.name, "file": check.file, "problem": check.problem}
            for check in checks
        ],
        "verified": not any(check.problem for check in checks),
    }


def _plain_figure(name: str, figure: Estimate) -> dict[str, Any]:
    interval = {"low": figure.low, "high": figure.high, "n": figure.n}
    return {"name": name, "value": figure.value, **interval}
