"""The screens of one participation: a pure function of study, cell, seed and wave.

The server keeps these and the index, nothing else; after a restart it plans again and goes on.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from dialens.studies import _factors as factors
from dialens.studies._conversations import talk_screens
from dialens.studies._factors import Condition
from dialens.studies._items import Candidate, Item
from dialens.studies._study import Study, quality_label
from dialens.studies._types import JSON, Cell, Screen
from dialens.studies._waves import FIRST, item_block, wave_of
from dialens.studies.design import (
    LIST,
    Design,
    Example,
    Questionnaire,
    Wave,
    question_field,
    texts_of,
)
from dialens.studies.plan._dressing import Dressing
from dialens.studies.plan._gates import consent_screen, screening_screens, with_comprehension
from dialens.studies.plan._ordering import arranged, latin_square, shuffled
from dialens.studies.plan._practice import practice_screens
from dialens.studies.plan._screens import ScreenMaker, item_screens, own_answer_screen, rendering
from dialens.studies.texts import Texts

_RATINGS = "ratings"


class _Digits:
    """A seed read digit by digit, so that everything counterbalanced is crossed with the rest."""

    def __init__(self, seed: int) -> None:
        self._left = abs(seed)

    def next(self, base: int) -> int:
        self._left, digit = divmod(self._left, max(base, 1))
        return digit


def plan(study: Study, cell: Cell | str, seed: int, wave: int = FIRST) -> tuple[Screen, ...]:
    """Everything a participant sees, in order.

    Args:
        study: The study.
        cell: The participant's condition, or its name.
        seed: The participant's own. What is counterbalanced turns with it: over as many
            consecutive seeds as there are rows, every row of a Latin square occurs once.
        wave: Which part of the study, from 1. Later ones have ratings, and of the rest what the
            study file says; cell, seed and levels of factors stay those of the first.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> screens = plan(study_of(TEA), "anchor=both,layout=separate", seed=1)
        >>> [screen.id for screen in screens[:4]], len(screens)
        (['consent', 'instructions', 'rate-001-readability', 'rate-001-coherence'], 15)
    """
    own = study.cell(cell) if isinstance(cell, str) else cell
    design = study.design
    digits = _Digits(seed)
    names = _turned(list(design.qualities), design.presentation.qualities, seed, digits, study.name)
    maker, texts = ScreenMaker(design), texts_of(design)
    start = factors.condition(design, {**own.levels, **factors.within(design)[0]})
    parts: dict[str, list[Screen]] = {
        "screening": screening_screens(design, "before_consent", texts),
        "consent": [consent_screen(design, texts)],
        "screening again": screening_screens(design, "after_consent", texts),
        "questions_before": _questionnaires(design.questionnaires.before, "before", texts),
        "instructions": with_comprehension(design, instructions_screen(design, own), texts),
        "practice": practice_screens(study, maker, start, names, seed),
        _RATINGS: _ratings(study, maker, own, names, seed, digits, wave),
        "questions_after": _questionnaires(design.questionnaires.after, "after", texts),
        "end": [end_screen(design)],
    }
    later = wave_of(design, wave)
    if later is not None:
        shown = {*later.again, _RATINGS, "end"}
        if "screening" in shown:
            shown.add("screening again")
        if "instructions" not in shown:
            parts["instructions"] = [_welcome_back(design, later, texts)]
        shown.add("instructions")
        parts = {name: _in_wave(part, wave) for name, part in parts.items() if name in shown}
    return tuple(screen for part in parts.values() for screen in part)


def _welcome_back(design: Design, wave: Wave, texts: Texts) -> Screen:
    """What somebody reads who has done this before: a few words, and what the qualities mean."""
    body: list[dict[str, JSON]] = [{"kind": "text", "text": wave.text or texts.say("wave_text")}]
    if design.instructions.warning:
        body.insert(0, {"kind": "warning", "text": design.instructions.warning})
    return Screen(
        "instructions", "instructions", texts.say("wave_title"), (*body, *_definitions(design))
    )


def _in_wave(screens: Sequence[Screen], wave: int) -> list[Screen]:
    """Screens that say which wave they belong to."""
    return [replace(screen, state={**screen.state, "wave": wave}) for screen in screens]


def _turned(names: list[str], order: str, seed: int, digits: _Digits, study: str) -> list[str]:
    """The qualities in the order in which this participant is asked for them."""
    if order == "latin_square":
        return arranged(names, order, digits.next(len(latin_square(len(names)))))
    return arranged(names, order, seed, study, "qualities")


class Planner:
    """Plans that are kept for a while: a server needs the same one at every screen.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> planner = Planner(study_of(TEA))
        >>> cell = planner.study.cells[0].name
        >>> planner.screens(cell, 1) is planner.screens(cell, 1)
        True
    """

    def __init__(self, study: Study, *, keep: int = 320) -> None:
        """Plan `study`, keeping the plans of the last `keep` participants."""
        self.study = study
        self._kept = lru_cache(maxsize=keep)(
            lambda cell, seed, language, wave: plan(study.said_in(language), cell, seed, wave)
        )

    def screens(
        self, cell: str, seed: int, language: str | None = None, wave: int = FIRST
    ) -> tuple[Screen, ...]:
        """The same as `plan`, in a language of the study; screens are shared, not to be changed."""
        return self._kept(cell, seed, language, wave)


def participant_items(study: Study, cell: Cell, seed: int, wave: int = FIRST) -> tuple[Item, ...]:
    """The items that one participant judges in a wave, in the order of the study file."""
    if study.lists:
        wanted = {item.id for item in study.lists[int(cell.levels[LIST]) - 1]}
        return tuple(item for item in study.items if item.id in wanted)
    sample = study.design.items.sample
    if sample is None or sample.by == "study":
        return study.items
    mixed = shuffled(range(len(study.items)), study.name, "sample", seed)
    first = item_block(study.design, wave) * sample.count
    return tuple(study.items[place] for place in sorted(mixed[first : first + sample.count]))


def _presentations(
    study: Study, cell: Cell, seed: int, digits: _Digits, wave: int
) -> list[tuple[Item, Condition, int]]:
    """The items in order, each with its condition and its rank in the study file.

    Levels within participants rotate over items by rank and over participants by seed: over as
    many seeds as there are combinations, every item is seen once under each. In a later wave an
    item that is judged again has the levels it had, and another place.
    """
    design = study.design
    items = participant_items(study, cell, seed, wave)
    ways = factors.within(design)
    turn = digits.next(len(ways))
    levels = [ways[(rank + turn) % len(ways)] for rank in range(len(items))]
    blocked = [name for name, factor in design.factors.items() if factor.mix == "blocked"]
    blocks: dict[tuple[str, ...], list[int]] = {}
    for way in ways:
        blocks.setdefault(tuple(way[name] for name in blocked if name in way), [])
    for rank, way in enumerate(levels):
        blocks[tuple(way[name] for name in blocked if name in way)].append(rank)
    turn_of_blocks = digits.next(len(latin_square(len(blocks)))) + wave - FIRST
    shown = [factors.condition(design, {**cell.levels, **way}) for way in ways]
    order = shown[0].order
    longest = max(len(ranks) for ranks in blocks.values())
    turn_of_items = digits.next(len(latin_square(longest))) if order == "latin_square" else 0
    turn_of_items += wave - FIRST
    made: list[tuple[Item, Condition, int]] = []
    for block in arranged(list(blocks), "latin_square", turn_of_blocks):
        if order == "latin_square":
            ranks = arranged(blocks[block], order, turn_of_items)
        else:
            key = (study.name, "items", block, *_later(wave))
            ranks = arranged(blocks[block], order, seed, *key)
        made += [(items[rank], shown[(rank + turn) % len(ways)], rank) for rank in ranks]
    return made


def _ratings(
    study: Study,
    maker: ScreenMaker,
    cell: Cell,
    qualities: Sequence[str],
    seed: int,
    digits: _Digits,
    wave: int,
) -> list[Screen]:
    """Rating screens with gold items mixed in and attention checks between them."""
    design = study.design
    if design.conversations is not None:
        talks = talk_screens(design, cell, qualities, lambda base: digits.next(base) + wave - FIRST)
        after = [s for n, own in enumerate(talks, start=1) for s in (*own, *_attention(design, n))]
        return [*_attention(design, 0), *after]
    judged = _presentations(study, cell, seed, digits, wave)
    widest = max(len(item.candidates) for item in study.items)
    swapped = design.presentation.responses == "swap"
    rotating = design.presentation.responses in ("latin_square", "swap")
    rotating = rotating and design.items.unit == "response"
    turn = digits.next(len(latin_square(widest))) + wave - FIRST if rotating else 0
    dressing = Dressing.of(study, digits.next)
    if swapped:
        judged = [*judged, *judged]  # the same order again: an item returns after all others
    golden = _golden(study, len(judged), seed, wave)
    screens = _attention(design, 0)
    order = 0
    again: set[str] = set()
    for place, (bare, shown, rank) in enumerate(judged):
        item = dressing.dressed(bare)
        for gold in golden.get(place, ()):
            key = (study.name, "responses", gold.id, *_later(wave), seed)
            candidates = shuffled(gold.candidates, *key)
            screens += _one(maker, gold, shown, qualities, candidates, "check", order)
            order += 1
        candidates = _arranged(study, item, rank, turn, seed, wave)
        if item.id in again:
            candidates.reverse()
        elif shown.own_answer:
            screens.append(own_answer_screen(design, item, shown, _prefix(order), order))
        made = _one(maker, item, shown, qualities, candidates, "rating", order)
        screens += [_in_order(screen, item, candidates) for screen in made] if swapped else made
        again.add(item.id)
        order += 1
        screens += _attention(design, place + 1)
    return screens


def _one(
    maker: ScreenMaker,
    item: Item,
    shown: Condition,
    qualities: Sequence[str],
    candidates: Sequence[Candidate],
    kind: str,
    order: int,
) -> list[Screen]:
    prefix = _prefix(order)
    return item_screens(
        maker, item, shown, qualities, candidates, kind=kind, prefix=prefix, order=order
    )


def _prefix(order: int) -> str:
    return f"rate-{order + 1:03d}"


def _in_order(screen: Screen, item: Item, candidates: Sequence[Candidate]) -> Screen:
    """A screen of an item that comes in both orders, which says which of them it is."""
    first = candidates[0].key == item.candidates[0].key
    shown = {"pair": item.id, "order_shown": 1 if first else 2}
    return replace(screen, state={**screen.state, **shown})


def _later(wave: int) -> tuple[object, ...]:
    """What random orders of a later wave depend on beside the seed."""
    return () if wave == FIRST else ("wave", wave)


def _arranged(
    study: Study, item: Item, rank: int, turn: int, seed: int, wave: int
) -> list[Candidate]:
    """The candidates in the order in which they stand on the screen."""
    order = study.design.presentation.responses
    if study.design.items.unit == "turn":
        return list(item.candidates)  # a conversation has its order
    if order in ("latin_square", "swap"):
        return arranged(item.candidates, "latin_square", rank + turn)
    key = (study.name, "responses", item.id, *_later(wave))
    return arranged(item.candidates, order, seed, *key)


def _golden(study: Study, n_items: int, seed: int, wave: int) -> dict[int, list[Item]]:
    """Before which item each gold item comes; not before the first, where nobody is tired yet."""
    own = (*_later(wave), seed)
    places = shuffled(range(1, n_items), study.name, "gold places", *own) or [0]
    made: dict[int, list[Item]] = {}
    for number, gold in enumerate(shuffled(study.gold, study.name, "gold", *own)):
        made.setdefault(places[number % len(places)], []).append(gold)
    return made


def _attention(design: Design, n_done: int) -> list[Screen]:
    made = []
    for name, check in design.checks.attention.items():
        if n_done in check.after:
            number = check.after.index(n_done) + 1
            expected = {"check": f"check_{name}_{number}", "correct": check.answers}
            field = question_field(name, check.question, expected)
            made.append(Screen(f"check-{name}-{number}", "check", design.title, fields=(field,)))
    return made


def _questionnaires(parts: Sequence[Questionnaire], when: str, texts: Texts) -> list[Screen]:
    return [
        Screen(
            id=f"questions-{when}-{number}",
            kind="questions",
            title=part.title or texts.say("questions_title"),
            body=({"kind": "text", "text": part.text},) if part.text else (),
            fields=tuple(question_field(name, asked) for name, asked in part.questions.items()),
        )
        for number, part in enumerate(parts, start=1)
    ]


def instructions_screen(design: Design, cell: Cell) -> Screen:
    """What to do, with what only participants of this cell, or those who see all levels, read."""
    told, texts = design.instructions, texts_of(design)
    levels = {f"{name}={level}" for name, level in cell.levels.items()}
    for name, factor in design.factors.items():
        if factor.assign == "within":
            levels |= {f"{name}={level.name}" for level in factor.levels}
    body: list[dict[str, JSON]] = []
    if told.warning:
        body.append({"kind": "warning", "text": told.warning})
    body.append({"kind": "text", "text": told.text})
    body += [{"kind": "text", "text": text} for key, text in told.when.items() if key in levels]
    body += _definitions(design)
    shown = rendering(factors.condition(design, cell.levels))
    body += [
        _example(example, texts.say("example", number=number)) | shown
        for number, example in enumerate(told.examples, start=1)
    ]
    title = told.title or texts.say("instructions_title")
    return Screen("instructions", "instructions", title, tuple(body))


def _definitions(design: Design) -> list[dict[str, JSON]]:
    """What the qualities mean, as far as the study file says."""
    return [
        {
            "kind": "definition",
            "term": quality_label(design, name),
            "text": quality.definition,
        }
        for name, quality in design.qualities.items()
        if quality.definition
    ]


def _example(example: Example, label: str) -> dict[str, JSON]:
    turns = [
        {"speaker": said.speaker or "AB"[place % 2], "text": said.text}
        for place, said in enumerate(example.context)
    ]
    return {
        "kind": "example",
        "label": label,
        "turns": turns,
        "response": example.response,
        "verdict": example.verdict,
        "why": example.why,
    }


def end_screen(design: Design) -> Screen:
    """The last screen: closing words, and the completion code."""
    done, texts = design.completion, texts_of(design)
    message = done.message or texts.say("end_message")
    body: tuple[dict[str, JSON], ...] = ({"kind": "text", "text": message}, {"kind": "code"})
    return Screen("end", "end", done.title or texts.say("end_title"), body)
