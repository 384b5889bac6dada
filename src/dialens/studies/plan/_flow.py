"""The screens of one participation: a pure function of study, cell and seed.

The server keeps cell, seed and index, nothing else; after a restart it plans again and goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from dialens.studies import _factors as factors
from dialens.studies._conversations import talk_screens
from dialens.studies._factors import Condition
from dialens.studies._items import Candidate, Item
from dialens.studies._study import Study, quality_label
from dialens.studies._types import JSON, Cell, Field, Screen
from dialens.studies.design import LIST, Design, Example, Questionnaire, question_field, texts_of
from dialens.studies.plan._dressing import Dressing
from dialens.studies.plan._gates import consent_screen, screening_screens, with_comprehension
from dialens.studies.plan._ordering import arranged, latin_square, shuffled
from dialens.studies.plan._screens import ScreenMaker, item_screens, own_answer_screen, rendering
from dialens.studies.texts import Texts

STANDARD_LINE = "standard_length"
"""The field that asks for the first line's length, where it has no number yet."""

_WIDEST = 100.0  # what a line's picture is wide


class _Digits:
    """A seed read digit by digit, so that everything counterbalanced is crossed with the rest."""

    def __init__(self, seed: int) -> None:
        self._left = abs(seed)

    def next(self, base: int) -> int:
        self._left, digit = divmod(self._left, max(base, 1))
        return digit


def plan(study: Study, cell: Cell | str, seed: int) -> tuple[Screen, ...]:
    """Everything a participant sees, in order.

    Args:
        study: The study.
        cell: The participant's condition, or its name.
        seed: The participant's own. What is counterbalanced turns with it: over as many
            consecutive seeds as there are rows, every row of a Latin square occurs once.

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
    screens = [
        *screening_screens(design, "before_consent", texts),
        consent_screen(design, texts),
        *screening_screens(design, "after_consent", texts),
        *_questionnaires(design.questionnaires.before, "before", texts),
        *with_comprehension(design, instructions_screen(design, own), texts),
        *_practice(study, maker, start, names, seed),
        *_ratings(study, maker, own, names, seed, digits),
        *_questionnaires(design.questionnaires.after, "after", texts),
        end_screen(design),
    ]
    return tuple(screens)


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
            lambda cell, seed, language: plan(study.said_in(language), cell, seed)
        )

    def screens(self, cell: str, seed: int, language: str | None = None) -> tuple[Screen, ...]:
        """The same as `plan`, in a language of the study; screens are shared, not to be changed."""
        return self._kept(cell, seed, language)


def participant_items(study: Study, cell: Cell, seed: int) -> tuple[Item, ...]:
    """The items that one participant judges, in the order of the study file."""
    if study.lists:
        wanted = {item.id for item in study.lists[int(cell.levels[LIST]) - 1]}
        return tuple(item for item in study.items if item.id in wanted)
    sample = study.design.items.sample
    if sample is None or sample.by == "study":
        return study.items
    mixed = shuffled(range(len(study.items)), study.name, "sample", seed)
    return tuple(study.items[place] for place in sorted(mixed[: sample.count]))


def _presentations(
    study: Study, cell: Cell, seed: int, digits: _Digits
) -> list[tuple[Item, Condition, int]]:
    """The items in order, each with its condition and its rank in the study file.

    Levels within participants rotate over items by rank and over participants by seed: over as
    many seeds as there are combinations, every item is seen once under each.
    """
    design = study.design
    items = participant_items(study, cell, seed)
    ways = factors.within(design)
    turn = digits.next(len(ways))
    levels = [ways[(rank + turn) % len(ways)] for rank in range(len(items))]
    blocked = [name for name, factor in design.factors.items() if factor.mix == "blocked"]
    blocks: dict[tuple[str, ...], list[int]] = {}
    for way in ways:
        blocks.setdefault(tuple(way[name] for name in blocked if name in way), [])
    for rank, way in enumerate(levels):
        blocks[tuple(way[name] for name in blocked if name in way)].append(rank)
    turn_of_blocks = digits.next(len(latin_square(len(blocks))))
    shown = [factors.condition(design, {**cell.levels, **way}) for way in ways]
    order = shown[0].order
    longest = max(len(ranks) for ranks in blocks.values())
    turn_of_items = digits.next(len(latin_square(longest))) if order == "latin_square" else 0
    made: list[tuple[Item, Condition, int]] = []
    for block in arranged(list(blocks), "latin_square", turn_of_blocks):
        if order == "latin_square":
            ranks = arranged(blocks[block], order, turn_of_items)
        else:
            ranks = arranged(blocks[block], order, seed, study.name, "items", block)
        made += [(items[rank], shown[(rank + turn) % len(ways)], rank) for rank in ranks]
    return made


def _ratings(
    study: Study,
    maker: ScreenMaker,
    cell: Cell,
    qualities: Sequence[str],
    seed: int,
    digits: _Digits,
) -> list[Screen]:
    """Rating screens with gold items mixed in and attention checks between them."""
    design = study.design
    if design.conversations is not None:
        talks = talk_screens(design, cell, qualities, digits.next)
        after = [s for n, own in enumerate(talks, start=1) for s in (*own, *_attention(design, n))]
        return [*_attention(design, 0), *after]
    judged = _presentations(study, cell, seed, digits)
    widest = max(len(item.candidates) for item in study.items)
    swapped = design.presentation.responses == "swap"
    rotating = design.presentation.responses in ("latin_square", "swap")
    rotating = rotating and design.items.unit == "response"
    turn = digits.next(len(latin_square(widest))) if rotating else 0
    dressing = Dressing.of(study, digits.next)
    if swapped:
        judged = [*judged, *judged]  # the same order again: an item returns after all others
    golden = _golden(study, len(judged), seed)
    screens = _attention(design, 0)
    order = 0
    again: set[str] = set()
    for place, (bare, shown, rank) in enumerate(judged):
        item = dressing.dressed(bare)
        for gold in golden.get(place, ()):
            candidates = shuffled(gold.candidates, study.name, "responses", gold.id, seed)
            screens += _one(maker, gold, shown, qualities, candidates, "check", order)
            order += 1
        candidates = _arranged(study, item, rank, turn, seed)
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


def _arranged(study: Study, item: Item, rank: int, turn: int, seed: int) -> list[Candidate]:
    """The candidates in the order in which they stand on the screen."""
    order = study.design.presentation.responses
    if study.design.items.unit == "turn":
        return list(item.candidates)  # a conversation has its order
    if order in ("latin_square", "swap"):
        return arranged(item.candidates, "latin_square", rank + turn)
    return arranged(item.candidates, order, seed, study.name, "responses", item.id)


def _golden(study: Study, n_items: int, seed: int) -> dict[int, list[Item]]:
    """Before which item each gold item comes; not before the first, where nobody is tired yet."""
    places = shuffled(range(1, n_items), study.name, "gold places", seed) or [0]
    made: dict[int, list[Item]] = {}
    for number, gold in enumerate(shuffled(study.gold, study.name, "gold", seed)):
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
    for name, quality in design.qualities.items():
        if quality.definition:
            term = quality_label(design, name)
            body.append({"kind": "definition", "term": term, "text": quality.definition})
    shown = rendering(factors.condition(design, cell.levels))
    body += [
        _example(example, texts.say("example", number=number)) | shown
        for number, example in enumerate(told.examples, start=1)
    ]
    title = told.title or texts.say("instructions_title")
    return Screen("instructions", "instructions", title, tuple(body))


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


def _practice(
    study: Study, maker: ScreenMaker, shown: Condition, qualities: Sequence[str], seed: int
) -> list[Screen]:
    design = study.design
    texts = texts_of(design)
    screens = _lines(design, shown, texts)
    for number, item in enumerate(study.practice, start=1):
        candidates = list(item.candidates)
        if design.items.unit != "turn":
            candidates = shuffled(candidates, study.name, "practice", item.id, seed)
        made = item_screens(
            maker,
            item,
            shown,
            qualities,
            candidates,
            kind="practice",
            prefix=f"practice-{number:02d}",
            order=None,
        )
        screens += made
    told = design.practice.text or texts.say("practice_text")
    note: Mapping[str, JSON] = {"kind": "text", "text": told}
    return [
        Screen(s.id, s.kind, s.title, (note, *s.body), s.fields, s.deadline_s, s.state)
        for s in screens
    ]


def _lines(design: Design, shown: Condition, texts: Texts) -> list[Screen]:
    """Lines to be judged by length, the classic warm-up for magnitude estimation.

    The number of the standard line is only told where participants also see a numerical anchor
    later: otherwise practice itself would anchor them, and they give both lines numbers of their
    own (free modulus). Lines are drawn to one scale, so that their ratios can be seen.
    """
    lengths = design.practice.lines
    if not lengths:
        return []
    drawn = [length * min(1.0, _WIDEST / max(lengths)) for length in lengths]
    modulus = 100.0 if shown.anchor in ("numerical", "both") else None
    label = texts.say("line_first")
    if modulus is not None:
        label = texts.say("line_first_number", number=modulus)
    made = []
    for number, length in enumerate(drawn[1:], start=1):
        body = (
            {"kind": "line", "label": label, "length": drawn[0]},
            {"kind": "line", "label": texts.say("line_second"), "length": length},
        )
        fields = [_line("length", "line_question", modulus, length, texts)]
        if modulus is None:
            fields.insert(0, _line(STANDARD_LINE, "line_first_question", None, drawn[0], texts))
        title = texts.say("practice_title")
        made.append(Screen(f"line-{number:02d}", "practice", title, body, tuple(fields)))
    return made


def _line(name: str, key: str, modulus: float | None, length: float, texts: Texts) -> Field:
    options: dict[str, JSON] = {
        "modulus": modulus,
        "prompt": texts.say(key),
        "quality_label": texts.say("line_length"),
    }
    if modulus is not None:
        options["anchor_value"] = modulus
    return Field(name, "magnitude", options=options, targets={"1": {"length": length}})


def end_screen(design: Design) -> Screen:
    """The last screen: closing words, and the completion code."""
    done, texts = design.completion, texts_of(design)
    message = done.message or texts.say("end_message")
    body: tuple[dict[str, JSON], ...] = ({"kind": "text", "text": message}, {"kind": "code"})
    return Screen("end", "end", done.title or texts.say("end_title"), body)
