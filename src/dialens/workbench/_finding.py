"""Find what a folder holds, by run records and manifests, and how it hangs together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dialens.base import DialensError, counted
from dialens.corpus import ReadOptions, recognised
from dialens.studies import STUDY
from dialens.workbench._catalogue import KINDS, Catalogue, Item, Unread
from dialens.workbench._command_lines import shown_path
from dialens.workbench._corpus_items import LooseFiles, corpus_items, corpus_title
from dialens.workbench._drafts import DRAWN_FROM, Draft, Input
from dialens.workbench._run_items import gate_items, run_items
from dialens.workbench._standing import Link, is_address, remake, resolve, standing
from dialens.workbench._study_items import study_items
from dialens.workbench._walking import walk

_TOLD = 5


def find(folder: Path) -> Catalogue:
    """What a folder holds; nothing in it is changed.

    What was scored is followed to where it lies, outside of the folder too.

    Raises:
        DialensError: It is no folder, or holds nothing of ours.

    Examples:
        >>> import tempfile
        >>> place = Path(tempfile.mkdtemp()) / "mine"
        >>> place.mkdir()
        >>> talk = '{"messages": [{"role": "user", "content": "hi"}, '
        >>> talk += '{"role": "assistant", "content": "hello"}]}'
        >>> _ = (place / "chats.jsonl").write_text(talk)
        >>> [(item.kind, item.name, item.title) for item in find(place).items]
        [('corpus', 'chats.jsonl', '1 conversation of 1 agent, 2 turns')]
    """
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise DialensError(f"{folder} {what}. Name the folder that holds your data.")
    folder = folder.resolve()
    notes: list[str] = []
    loose = LooseFiles(notes)
    drafts: list[Draft] = []
    whole: set[Path] = set()  # folders in which nothing else is looked for
    for place in walk(folder, notes):
        own = [*corpus_items(place), *run_items(place), *study_items(place), *gate_items(place)]
        taken = {draft.path for draft in own}
        whole |= {draft.path for draft in own if draft.kind in ("corpus", "export")}
        if whole.isdisjoint([place.path, *place.path.parents]):
            own += [draft for draft in loose.items(place) if draft.path not in taken]
        drafts += own
    drafts += _outside(drafts, loose)
    unread = _unread(drafts, loose, folder)
    drafts = _with_counts(_without_study_items(drafts))
    if not drafts:
        if unread:
            raise DialensError(_nothing_read(folder, unread))
        raise DialensError(
            f"{folder} holds nothing of dialens: no corpus, scores, comparison, study or judges "
            "(run.json, manifest.json, study.yaml), and no conversations in a known format. "
            f"Begin with `dialens score CHATS -o {shown_path(folder / 'out')}`, or with "
            "`dialens demo`."
        )
    return Catalogue(folder, _items(drafts, folder), tuple(notes), unread)


def _outside(drafts: Sequence[Draft], loose: LooseFiles) -> list[Draft]:
    """Conversations that were scored or rated and lie elsewhere."""
    known = {draft.path for draft in drafts}
    found: dict[Path, Draft] = {}
    for draft in drafts:
        for one in draft.inputs:
            if one.word != "the conversations" or is_address(one.place):
                continue
            path = resolve(one.place, draft.path)
            if path is None or path in known or path in found:
                continue
            if draft.kind == "corpus" and (draft.options != ReadOptions() or not path.is_file()):
                continue  # a corpus stands for what it was converted from
            if not path.is_file() and recognised(path) is None:
                continue
            seen = loose.conversations(path, used=True, options=draft.options)
            if seen is not None:
                found[path] = seen
    return list(found.values())


def _unread(drafts: Sequence[Draft], loose: LooseFiles, folder: Path) -> tuple[Unread, ...]:
    """Files that could not be read, but for those that something was made from or that are ours."""
    known = {draft.path for draft in drafts}
    for draft in drafts:
        places = [one.place for one in draft.inputs if not one.by_name]
        known |= {found for place in places if (found := resolve(place, draft.path)) is not None}
    texts = _study_texts(drafts)
    left = [
        one
        for one in (*loose.known, *loose.unknown)
        if one.path not in known and one.path.name not in texts.get(one.path.parent, "")
    ]
    return tuple(replace(one, name=_below(one.path, folder)) for one in left)


def _nothing_read(folder: Path, unread: Sequence[Unread]) -> str:
    lines = [f"{folder} holds no conversations that could be read as they are."]
    for one in unread[:_TOLD]:
        said = one.why if one.why.startswith(one.name) else f"{one.name}: {one.why}"
        lines += [said, *([f"Run: {one.command}"] if one.command else [])]
    if len(unread) > _TOLD:
        lines.append(f"And {counted(len(unread) - _TOLD, 'more file')}.")
    return "\n".join([*lines, "`dialens formats` lists what is read."])


def _without_study_items(drafts: Sequence[Draft]) -> list[Draft]:
    """Leave out files beside a study that its file names: its items are no corpus of their own."""
    texts = _study_texts(drafts)
    return [
        draft
        for draft in drafts
        if draft.kind != "corpus" or draft.path.name not in texts.get(draft.path.parent, "")
    ]


def _study_texts(drafts: Sequence[Draft]) -> dict[Path, str]:
    """The study files of folders, as text."""
    studies = [draft.path for draft in drafts if draft.kind == "study" and draft.path.is_dir()]
    return {path: _text(path / STUDY) for path in studies}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _with_counts(drafts: Sequence[Draft]) -> list[Draft]:
    """Conversations that were too many to count, counted by whoever scored them."""
    counted = {}
    for draft in drafts:
        if draft.kind == "scores" and len(draft.inputs) == 1:
            path = resolve(draft.inputs[0].place, draft.path)
            counted[path] = {k: n for k, n in draft.counts.items() if k != "metrics"}
    return [
        replace(draft, counts=counted[draft.path], title=corpus_title(counted[draft.path]))
        if draft.kind == "corpus" and not draft.counts and counted.get(draft.path)
        else draft
        for draft in drafts
    ]


def _items(drafts: Sequence[Draft], folder: Path) -> tuple[Item, ...]:
    drafts = sorted(drafts, key=lambda draft: (KINDS.index(draft.kind), draft.path))
    named = dict(zip(_names(drafts, folder), drafts, strict=True))
    links = {name: _links(draft, named) for name, draft in named.items()}
    states: dict[str, str] = {}
    items: dict[str, Item] = {}
    for name in _in_order(links):
        draft, own = named[name], links[name]
        state, why = standing(draft, own, states)
        states[name] = state
        items[name] = Item(
            kind=draft.kind,
            name=name,
            path=draft.path,
            title=draft.title,
            made=draft.made,
            command=remake(draft, own),
            sources=tuple(link.source for link in own),
            state=state,
            why=why,
            report=draft.report,
            record=draft.record,
            counts=dict(draft.counts),
        )
    return tuple(items[name] for name in named)


def _links(draft: Draft, named: Mapping[str, Draft]) -> list[Link]:
    """What an item was made from, as far as it is found."""
    links = []
    for one in draft.inputs:
        if one.by_name:
            named_so = [(n, d) for n, d in named.items() if _is_called(n, d, one)]
            links += [Link(one, study.path, study, name) for name, study in named_so[:1]]
            continue
        path = None if is_address(one.place) else resolve(one.place, draft.path)
        if path is None:
            # A corpus stands for itself; what it was converted from may well be gone.
            links += [] if draft.kind == "corpus" else [Link(one, None)]
            continue
        wanted = path.parent if path.name == STUDY else path
        there = [(n, d) for n, d in named.items() if d.path == wanted and d is not draft]
        links.append(Link(one, path, there[0][1], there[0][0]) if there else Link(one, path))
    return links


def _is_called(name: str, draft: Draft, one: Input) -> bool:
    if one.word == DRAWN_FROM:
        return draft.kind == "corpus" and one.place in (name, draft.path.name)
    return draft.kind == "study" and draft.known_as == one.place


def _in_order(links: Mapping[str, Sequence[Link]]) -> Iterable[str]:
    """Items after those that they were made from; who stands in a circle comes as it comes."""
    done: dict[str, None] = {}
    entered: set[str] = set()

    def enter(name: str) -> None:
        if name not in entered:
            entered.add(name)
            for link in links[name]:
                if link.name is not None:
                    enter(link.name)
            done[name] = None

    for name in links:
        enter(name)
    return done


def _below(path: Path, folder: Path) -> str:
    """A path from the folder on; of one that lies elsewhere its name."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


def _names(drafts: Sequence[Draft], folder: Path) -> list[str]:
    """A name for each item, from its path below the folder."""
    names: list[str] = []
    for draft in drafts:
        below = _below(draft.path, folder)
        name = folder.name or "folder" if below == "." else below
        if draft.label and draft.path.suffix == ".parquet":
            name = name.removesuffix(".parquet")
        elif draft.label and name in names:
            name = f"{name}/{draft.label}"
        fitting, number = name, 1
        while fitting in names:
            number += 1
            fitting = f"{name} ({number})"
        names.append(fitting)
    return names
