"""What a study will ask of people and cost, before anyone is paid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialens.studies._conversations import filled, talk_names
from dialens.studies._files import PLACEHOLDER
from dialens.studies._precision import too_few_people
from dialens.studies._study import Study
from dialens.studies._types import JSON, Field, Screen
from dialens.studies._waves import FIRST
from dialens.studies.design import ConnectRecruiter, Design, texts_of
from dialens.studies.instruments import instrument
from dialens.studies.plan import is_repeated, plan
from dialens.studies.simulation import example
from dialens.studies.texts import Texts

_UNPAID = ("link", "personal", "kiosk", "provider")
_WORDS_PER_MINUTE = 200
_PAGE_SECONDS = 2.0
_ROUND = 60.0
_EXCHANGE_SECONDS = 35.0  # a message is thought of and typed, and its reply is read


@dataclass(frozen=True)
class CellEstimate:
    """What one cell asks of a participant.

    Attributes:
        cell: Its name.
        target: Participants wanted.
        screens: A participant sees.
        ratings: A participant gives.
        minutes: It takes, roughly: reading at 200 words a minute, and each instrument's time.
    """

    cell: str
    target: int
    screens: int
    ratings: int
    minutes: float


@dataclass(frozen=True)
class StudyEstimate:
    """What a study asks and costs.

    Attributes:
        cells: One entry a cell.
        participants: Wanted in all.
        ratings: Given in all.
        cost: Rewards and fees, in `currency`; 0 where nobody is paid.
        currency: Of rewards.
        hourly: What a participant earns an hour in the longest cell; none where nobody is paid.
        warnings: What a careful colleague would ask about.
    """

    cells: tuple[CellEstimate, ...]
    participants: int
    ratings: int
    cost: float
    currency: str
    hourly: float | None
    warnings: tuple[str, ...]


def estimate(study: Study, *, seed: int = 0, wave: int = FIRST) -> StudyEstimate:
    """Cells, targets, screens, minutes and cost of a study, or of one of its later waves.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> found = estimate(study_of(TEA))
        >>> found.participants, found.cells[0].ratings, found.cells[0].screens
        (80, 36, 9)
    """
    cells = tuple(_cell(study, cell.name, seed, wave) for cell in study.cells)
    participants = sum(cell.target for cell in cells)
    recruiter = study.design.recruiter
    longest = max(cell.minutes for cell in cells)
    return StudyEstimate(
        cells=cells,
        participants=participants,
        ratings=sum(cell.target * cell.ratings for cell in cells),
        cost=round(participants * recruiter.reward * (1 + recruiter.fee), 2),
        currency=recruiter.currency,
        hourly=recruiter.reward / longest * _ROUND if recruiter.reward else None,
        warnings=tuple(_warnings(study, longest)),
    )


def holds(study: Study) -> str:
    """What a study is about, in a few words.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> holds(study_of(TEA))
        '6 items'
    """
    talks = study.design.conversations
    if talks is None:
        return f"{len(study.items)} items"
    beside = ", two side by side" if talks.side_by_side else ""
    return f"conversations of {talks.exchanges} messages with {len(talks.agents)} agents{beside}"


def _cell(study: Study, name: str, seed: int, wave: int) -> CellEstimate:
    screens = [screen for screen in plan(study, name, seed, wave) if not is_repeated(screen)]
    ratings = sum(len(s.fields) for s in screens if s.kind == "rating")
    minutes = sum(screen_seconds(screen, before) for screen, before in _pairs(screens)) / 60
    return CellEstimate(name, study.targets[name], len(screens), ratings, round(minutes, 1))


def _pairs(screens: Sequence[Screen]) -> list[tuple[Screen, Screen | None]]:
    return list(zip(screens, [None, *screens[:-1]], strict=True))


def screen_seconds(screen: Screen, before: Screen | None = None) -> float:
    """How long a screen takes, roughly; what stood on the screen before is not read again.

    Examples:
        >>> screen_seconds(Screen("a", "end", "", ({"kind": "text", "text": "word " * 100},)))
        32.0
    """
    known = [] if before is None else list(before.body)
    words = sum(_words(block) for block in screen.body if block not in known)
    asked = sum(instrument(field.instrument).seconds for field in screen.fields)
    asked += sum(int(block.get("exchanges", 0)) for block in screen.body) * _EXCHANGE_SECONDS
    spent = _PAGE_SECONDS + words / _WORDS_PER_MINUTE * 60 + asked
    return spent if screen.deadline_s is None else min(spent, screen.deadline_s)


def _words(value: JSON) -> int:
    if isinstance(value, str):
        return len(value.split())
    if isinstance(value, Mapping):
        if value.get("kind") in ("talk", "media"):
            return 0  # it was read when it was had; it is no text
        return sum(_words(part) for name, part in value.items() if name != "kind")
    if isinstance(value, Sequence):
        return sum(_words(part) for part in value)
    return 0


def _warnings(study: Study, longest: float) -> list[str]:
    design = study.design
    said = list(study.notes)
    if longest > design.limits.session_minutes:
        said.append(
            f"A session takes about {longest:.0f} minutes, but limits.session_minutes is "
            f"{design.limits.session_minutes:g}: participants will run out of time."
        )
    if PLACEHOLDER in study.definition + study.operation:
        said.append(f"{PLACEHOLDER} still stands in the texts: participants would read it.")
    if not design.contact:
        said.append("Participants are not told whom to write to (contact).")
    for name, quality in design.qualities.items():
        if not quality.definition:
            said.append(f"{name} has no definition: everybody will bring one of their own.")
    n_items = min((len(part) for part in study.lists), default=len(study.items))
    talks = design.conversations
    if talks is not None:
        n_items = 1 if talks.assign == "between" else len(talks.line_ups)
        if len(talks.agents) > 1 and talks.common_pace is None:
            said.append(
                "Replies are shown as fast as each agent is (conversations.pace: as_it_comes): "
                "speed tells agents apart, and is rated as quality. Leave the setting out."
            )
    if design.items.sample is not None:
        n_items = design.items.sample.count
    for name, check in design.checks.attention.items():
        late = [number for number in check.after if number > n_items]
        if late:
            said.append(f"The check {name} comes after {late[0]} items, but there are {n_items}.")
    if study.targets and min(study.targets.values()) < 2:
        said.append("A cell with one participant cannot tell the person from the condition.")
    if design.recruiter.kind not in _UNPAID and design.recruiter.reward == 0:
        said.append(f"recruiter.reward is 0: {design.recruiter.kind} needs one.")
    said += too_few_people(study, _length(study))
    said += _unmatched(design)
    return said


def _length(study: Study) -> float | None:
    """Of the scale of what is to be known precisely; none if it has no ends."""
    quality = study.design.allocation.quality
    for screen in plan(study, study.cells[0].name, 0) if quality else ():
        for field in screen.fields:
            if screen.kind == "rating" and field.quality == quality:
                scale = instrument(field.instrument).scale(field)
                low, high = scale.get("low"), scale.get("high")
                return None if low is None or high is None else float(high) - float(low)
    return None


def _unmatched(design: Design) -> list[str]:
    """Whether a platform could not tell who completed the study."""
    settings = design.recruiter
    known = design.completion.codes.completed
    if not isinstance(settings, ConnectRecruiter) or settings.return_url or known:
        return []
    return [
        "CloudResearch Connect cannot tell who completed the study: set recruiter.return_url or "
        "completion.codes.completed to what Connect shows for the project."
    ]


def preview(study: Study, cell: str, *, seed: int = 0, most: int = 12) -> list[str]:
    """The flow of one participant in plain lines: the first `most` screens in full, then names.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> preview(study_of(TEA), "anchor=none,layout=together")[0]
        '1  consent  Before you begin'
    """
    lines: list[str] = []
    screens = [_with_example(study, screen) for screen in plan(study, cell, seed)]
    width = len(str(len(screens)))
    for number, screen in enumerate(screens, start=1):
        lines.append(f"{number:>{width}}  {screen.id}  {screen.title}")
        if number > most and screen.kind != "end":
            continue
        indent = " " * (width + 2)
        for block in screen.body:
            lines += [f"{indent}│ {line}" for line in _block(block)]
        for field in screen.fields:
            lines.append(f"{indent}? {_field(field, texts_of(study.design))}")
        if screen.deadline_s is not None:
            lines.append(f"{indent}⏱ {screen.deadline_s:g} s")
    return lines


def _with_example(study: Study, screen: Screen) -> Screen:
    """A screen about a conversation that nobody has had yet."""
    talks, names = study.design.conversations, talk_names(screen)
    if talks is None or not names or screen.kind == "chat":
        return screen
    return filled(screen, example(talks, names))


def _field(field: Field, texts: Texts) -> str:
    used = instrument(field.instrument)
    form = used.form(field, texts)
    about = f"{field.options['slot_label']}: " if "slot_label" in field.options else ""
    answers = " / ".join(choice.label for choice in form.choices if choice.label)
    note = f"  ({field.options['anchor_note']})" if "anchor_note" in field.options else ""
    said = f"{about}{form.prompt}{note}  [{used.title.lower()}]"
    return said + (f"  {answers}" if answers else "")


def _block(block: Mapping[str, JSON]) -> list[str]:
    kind = block["kind"]
    if kind == "dialogue":
        return [f"{said['speaker']}: {said['text']}" for said in block["turns"]]
    if kind == "anchor":
        told = f"{block['label']}: {block['text']}" if block["text"] else str(block["label"])
        values = ", ".join(f"{value['quality']} {value['value']:g}" for value in block["values"])
        return [f"{told}  ({values})" if values else told]
    if kind == "example":
        said = [f"{turn['speaker']}: {turn['text']}" for turn in block["turns"]]
        return [f"{block['label']}:", *said, f"→ {block['response']}  [{block['verdict']}]"]
    if kind == "definition":
        return [f"{block['term']}: {block['text']}"]
    if kind == "response":
        own = [line for one in block.get("media", ()) for line in _block(one)]
        tag = f" [{block['tag']}]" if block.get("tag") else ""
        return [f"{block['label']}{tag}: {block['text'] or ''}".rstrip(), *own]
    if kind == "media":
        return [f"({block['type']}: {block['alt']})"]
    if kind == "line":
        return [f"{block['label']}: a line of length {block['length']:g}"]
    if kind == "talk":
        part = block.get("until")
        what = f"a conversation of {block['exchanges']} messages" if part is None else None
        return [f"({what or f'message {part} of a conversation'})"]
    if kind == "code":
        return ["(completion code)"]
    return str(block.get("text", "")).strip().split("\n")
