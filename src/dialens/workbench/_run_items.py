"""Items that commands wrote with a run record: scores, comparisons, validations and so on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialens.base import RUN, DialensError, RunRecord, counted, listed
from dialens.workbench._drafts import (
    SELF,
    Draft,
    Input,
    changed_at,
    damage_of,
    existing,
    moment,
    options_of,
    read_json,
    whole,
    written_by_us,
)
from dialens.workbench._walking import Place

SCORES = "scores.parquet"
_CARDS = "metrics.json"
_COMPARISON, _COMPARISON_PAGE = "comparison.parquet", "comparison.html"

_KINDS = {
    "score": "scores",
    "compare": "comparison",
    "compare --users": "comparison",
    "validate": "validation",
    "agreement": "agreement",
    "power": "power",
    "traits fit": "traits",
    "study analyze": "analysis",
    "study model": "analysis",
}
_PAGES = ("report.html", _COMPARISON_PAGE, "agreement.html")
_ESSENTIAL = {
    "scores": (SCORES, _CARDS),
    "comparison": (_COMPARISON,),
    "validation": ("validation.json",),
    "agreement": ("agreement.json",),
    "power": ("power.json",),
}
"""Without these files an item is of no use."""

_INPUTS = {
    "scores": {"corpus": "the conversations", "judges": "the judges' ratings"},
    "comparison": {
        "runs": "the scores",
        "simulated": "the simulated users",
        "real": "the real users",
    },
    "validation": {
        "corpus": "the conversations",
        "scores": "the scores",
        "own_scores": "the scores",
        "ratings": "the ratings",
    },
    "agreement": {"ratings": "the ratings"},
    "power": {"ratings": "the ratings"},
    "traits": {"table": "the texts"},
    "analysis": {"export": "the study", "study": "the study", "ratings": "the ratings"},
}
"""Arguments that name what was read, and what that is."""

_BY_OPTION = {"scores": ("judges",), "validation": ("own_scores", "ratings")}


def run_items(place: Place) -> list[Draft]:
    """What a folder with a run record is; also a comparison that was written into scores."""
    if not place.has(RUN):
        return _without_record(place)
    path = place.path
    try:
        record = _record(path / RUN)
    except DialensError as error:
        return [Draft("other", path, "A folder whose record cannot be read", damage=str(error))]
    kind = _KINDS.get(record.command, "other")
    pages = [path / name for name in _PAGES if place.has(name)]
    if kind == "scores":
        pages = [page for page in pages if page.name != _COMPARISON_PAGE]
    item = Draft(
        kind,
        path,
        _title(kind, record, path),
        counts=_counts(record),
        made=moment(record.ended) or changed_at(path / RUN),
        record=record,
        inputs=_inputs(kind, record),
        report=pages[0] if pages else None,
        damage=damage_of(path, _needed(kind, place)),
        options=options_of(record.arguments),
    )
    inside = kind == "scores" and place.has(_COMPARISON)
    return [item, _inside(path)] if inside else [item]


def _needed(kind: str, place: Place) -> list[str]:
    """The files that an item consists of: those without which it is of no use, and its tables."""
    if kind not in _ESSENTIAL:
        return []
    tables = [name for name in place.files if name.endswith(".parquet")]
    listed_ones = [name for name in written_by_us(place.path) or () if name.endswith(".parquet")]
    others = sorted({*tables, *listed_ones} - ({_COMPARISON} if kind == "scores" else set()))
    return [*_ESSENTIAL[kind], *others]


def _record(path: Path) -> RunRecord:
    """A run record whose parts are of the kinds that they should be."""
    record = RunRecord.open(path)
    command: object = record.command  # whatever the file says
    parts: tuple[object, ...] = (record.arguments, record.counts, record.data, record.signatures)
    if not isinstance(command, str) or not all(isinstance(one, Mapping) for one in parts):
        raise DialensError(f"{path} is not the record of a run. Run the command again.")
    return record


def _without_record(place: Place) -> list[Draft]:
    if not place.has(SCORES, _CARDS):
        return []
    damage = f"{RUN} is missing, so nobody knows what was scored."
    return [Draft("scores", place.path, "Scores without a record", damage=damage)]


def _inside(folder: Path) -> Draft:
    """A comparison that `dialens compare` wrote into the scores that it compares."""
    return Draft(
        "comparison",
        folder / _COMPARISON,
        f"The agents of {folder.name}, compared",
        made=changed_at(folder / _COMPARISON),
        inputs=(Input(str(folder), word="the scores"),),
        report=existing(folder / _COMPARISON_PAGE),
        damage=damage_of(folder, [_COMPARISON]),
        label="comparison",
    )


def _counts(record: RunRecord) -> dict[str, int]:
    said = record.counts
    names = {"dialogs": "conversations", "agents": "agents", "turns": "turns", "metrics": "metrics"}
    return {ours: whole(said.get(name)) for name, ours in names.items() if whole(said.get(name))}


def _title(kind: str, record: RunRecord, path: Path) -> str:
    n = _counts(record)
    talks = counted(n.get("conversations", 0), "conversation")
    arguments = record.arguments
    if kind == "scores":
        metrics, agents = (
            counted(n.get("metrics", 0), "metric"),
            counted(n.get("agents", 0), "agent"),
        )
        return f"{metrics} of {agents} over {talks}"
    if kind == "comparison":
        runs = [Path(run).name for run in _paths(arguments.get("runs"))]
        what = listed(runs) if len(runs) > 1 else counted(n.get("agents", 0), "agent")
        return f"{what} compared" + (f" on {talks}" if n.get("conversations") else "")
    if kind == "validation":
        read = (read_json(path / "validation.json") or {}).get("qualities")
        judged = (
            f" on {counted(len(read), 'quality', 'qualities')}" if isinstance(read, list) else ""
        )
        return f"Metrics held against people's ratings{judged}"
    named = listed([Path(one.place).name for one in _inputs(kind, record)])
    words = {
        "agreement": f"How far the raters of {named} agree",
        "power": "How many raters and items a study needs",
        "traits": "Trait models from labelled text",
        "analysis": f"What people said in {named}",
    }
    return words.get(kind, f"What `dialens {record.command}` wrote")


def _inputs(kind: str, record: RunRecord) -> tuple[Input, ...]:
    arguments = record.arguments
    every = [
        (path, name, word)
        for name, word in _INPUTS.get(kind, {}).items()
        for path in _paths(arguments.get(name))
    ]
    read = [path for path, name, _ in every if name == "corpus"]
    hashes = {path: _hashes(record.data, number, len(read)) for number, path in enumerate(read)}
    if arguments.get("sha256") and len(every) == 1:  # as commands that read one table record it
        hashes[every[0][0]] = {SELF: str(arguments["sha256"])}
    noted = record.details.get("sources")
    if isinstance(noted, Mapping):
        hashes |= {str(path): _texts(of) for path, of in noted.items()}
    by_option = _BY_OPTION.get(kind, ())
    return tuple(
        Input(path, hashes.get(path) or {}, word, option=name in by_option)
        for path, name, word in every
    )


def _hashes(data: Mapping[str, Any], number: int, several: int) -> dict[str, str]:
    """Hashes of what was scored, as a manifest describes its source."""
    if several > 1:
        inputs = data.get("inputs")
        entry = inputs[number] if isinstance(inputs, list) and len(inputs) == several else {}
        data = entry if isinstance(entry, Mapping) else {}
    if isinstance(data.get("files"), Mapping):
        return _texts(data["files"])
    hashes = {SELF: str(data["sha256"])} if data.get("sha256") else {}
    return hashes | _texts(data.get("tables"))


def _texts(mapping: object) -> dict[str, str]:
    if not isinstance(mapping, Mapping):
        return {}
    return {str(name): str(value) for name, value in mapping.items() if value}


def _paths(value: object) -> list[str]:
    if isinstance(value, str) and value:
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def gate_items(place: Place) -> list[Draft]:
    """What `dialens gate --json` wrote."""
    found = []
    for name in place.files:
        if not name.endswith(".json") or name in (RUN, _CARDS):
            continue
        content = read_json(place.path / name)
        if content is None or not {"passed", "decide", "run", "checks"} <= content.keys():
            continue
        checks = content["checks"] if isinstance(content["checks"], list) else []
        outcome = "passed" if content["passed"] is True else "failed"
        inputs = [str(content[key]) for key in ("run", "baseline") if content.get(key)]
        found.append(
            Draft(
                "gate",
                place.path / name,
                f"Gate {outcome}: {counted(len(checks), 'check')} of {Path(inputs[0]).name}"
                if inputs
                else f"Gate {outcome}",
                made=changed_at(place.path / name),
                inputs=tuple(Input(path, word="the scores") for path in inputs),
            )
        )
    return found
