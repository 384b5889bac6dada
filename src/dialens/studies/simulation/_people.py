"""Simulated participants: opinions that are known, and known ways in which they go astray.

Opinions are on the scale of `instruments.declaration.Latent`: 0 is worst, 100 as good as the
standard. A participant with an opinion x of a response who sees an anchor moves a share `pull` of
the way to it: (1 − pull) · x + pull · anchor (Tversky & Kahneman 1974; the index of Jacowitz &
Kahneman 1995 estimates the same share).
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dialens.studies._check import screen_seconds
from dialens.studies._items import Candidate, Item
from dialens.studies._media import names_of
from dialens.studies._raters import SIMULATED, RaterReply
from dialens.studies._study import Study
from dialens.studies._types import JSON, Field, Screen
from dialens.studies._waves import FIRST
from dialens.studies.design import TAG, CheckedQuestion
from dialens.studies.instruments import instrument, simulate, validate
from dialens.studies.plan import STANDARD_LINE, plan
from dialens.studies.simulation._population import Population
from dialens.studies.simulation._small_talk import REPLIES, stand_in

_STANDARD = 100.0
_NEXT = " | "
_QUALITY_SPREAD = 5.0
_CLEAR = 45.0  # how far a gold item's opinions lie from the middle
_HABITS = (1.0, 5.0, 10.0)
_AWAY = 0.01  # share of screens during which somebody looks elsewhere
_SPEEDERS_PACE = 0.12
_LENGTH = 100  # characters of a response that neither gains nor loses by its length
_DRAWS = 200  # until an answer is one of somebody who may take part


@dataclass(frozen=True)
class World:
    """What everybody agrees on: how good each response is, and what checks expect.

    Attributes:
        study: What is taken.
        population: Whom participants are drawn from.
        seed: Of all opinions and of everybody's ways.
    """

    study: Study
    population: Population
    seed: int
    _opinions: dict[tuple[str, str, str], float] = field(
        default_factory=dict, compare=False, repr=False
    )

    def draws(self, *of: object) -> np.random.Generator:
        """Random numbers that belong to something, the same whenever it comes up."""
        text = "\x1f".join(str(part) for part in (self.seed, *of))
        return np.random.default_rng(
            int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])
        )

    def person(self, number: int) -> "SimulatedRater":
        """The participant of that number, the same every time.

        Examples:
            >>> from dialens.studies._examples import TEA
            >>> from dialens.studies._study import study_of
            >>> world = World(study_of(TEA), Population(dropout=1.0), seed=1)
            >>> world.person(3).leaves_after == world.person(3).leaves_after
            True
        """
        people, draw = self.population, self.draws("person", number)
        spread = people.scale_spread
        # A log-normal factor with mean 1: differences between conditions stay what was put in.
        deviation = math.sqrt(math.log1p(spread**2))
        scale = float(np.exp(draw.normal(-(deviation**2) / 2, deviation)))
        pace = float(np.exp(draw.normal(0, 0.3)))
        leaves = draw.random() < people.dropout
        after = int(draw.integers(0, self._screens)) if leaves else None
        speeds, sleeps = draw.random() < people.speeders, draw.random() < people.inattentive
        rounds = draw.random() < people.round_share
        habit = _HABITS[int(draw.integers(1, len(_HABITS)))] if rounds else _HABITS[0]
        return SimulatedRater(
            world=self,
            number=number,
            scale=scale,
            pace=pace * (_SPEEDERS_PACE if speeds else 1.0),
            habit=habit,
            speeds=bool(speeds),
            sleeps=bool(sleeps),
            leaves_after=after,
        )

    def opinion(self, quality: str, context: str, response: str) -> float:
        """What people think of a response on average, without any anchor."""
        key = (quality, context, response)
        if key not in self._opinions:
            people = self.population
            agent, text = self._shown.get((context, response), ("", response))
            agent = agent or self._talker(context, response)
            self._opinions[key] = (
                people.level
                + float(self.draws("quality", quality).normal(0, _QUALITY_SPREAD))
                + float(self.draws("agent", agent, quality).normal(0, people.agent_spread))
                + people.preferences.get(agent, 0.0)
                + float(self.draws("item", quality, context, text).normal(0, people.item_spread))
            )
        return self._opinions[key]

    @cached_property
    def gold(self) -> dict[tuple[str, str], tuple[Item, str]]:
        """Gold items by what stands on the screen."""
        return {
            _known(item, one): (item, one.key)
            for item in self.study.gold
            for one in item.candidates
        }

    @cached_property
    def tags(self) -> dict[str, str]:
        """The level of the factor `tag` by what stands above a response."""
        factor = self.study.design.factors.get(TAG)
        agents = {one.agent for item in self.study.items for one in item.candidates}
        return {
            plain([level.note.replace("{agent}", agent)]): level.name
            for level in (factor.levels if factor else ())
            for agent in agents
            if level.note
        }

    @cached_property
    def _shown(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Whose response something on the screen is, and its text without any variation."""
        return {
            _known(item, replace(one, text=text)): (one.agent, _known(item, one)[1])
            for item in self.study.items
            for one in item.candidates
            for text in (one.text, *one.variants.values())
        }

    def _talker(self, context: str, response: str) -> str:
        """Who talked in a conversation, by the replies that stand for an agent's; else nobody."""
        talks = self.study.design.conversations
        said = [text for text in (*context.split(_NEXT), response) if text in REPLIES]
        for one in talks.agents if talks is not None and said else ():
            if said == [stand_in(one.name, number) for number in range(1, len(said) + 1)]:
                return one.name
        return ""

    @cached_property
    def _screens(self) -> int:
        """How many screens there are before the last, where there are fewest."""
        counts = (len(plan(self.study, cell, 0)) - 1 for cell in self.study.cells)
        return max(min(counts), 1)


def plain(texts: Iterable[str]) -> str:
    r"""Texts as one line, however they were wrapped on the way.

    Examples:
        >>> plain(["Tea  or", "coffee?\n"])
        'Tea or | coffee?'
    """
    return _NEXT.join(" ".join(text.split()) for text in texts)


@dataclass(frozen=True)
class SimulatedRater:
    """One participant, who answers the same screen the same way whenever it comes up.

    Attributes:
        world: What everybody agrees on.
        number: Of the participant, from 1.
        scale: Factor on opinions: whether this person's numbers run high or low.
        pace: Factor on times.
        habit: Numbers are multiples of it.
        speeds: Whether this person clicks through.
        sleeps: Whether this person does not read.
        leaves_after: Screens after which this person leaves; none for those who stay.
        wave: The part of the study that this person is in.
    """

    world: World
    number: int
    scale: float = 1.0
    pace: float = 1.0
    habit: float = 1.0
    speeds: bool = False
    sleeps: bool = False
    leaves_after: int | None = None
    wave: int = FIRST
    _screens: list[Screen] = field(default_factory=list, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """Always `simulated`."""
        return SIMULATED

    @property
    def name(self) -> str:
        """Tells participants of different simulations apart."""
        return f"simulated-{self.world.seed}-{self.world.population.digest}-{self.number}"

    def tie_breaker(self) -> int:
        """The number that decides between equally empty cells."""
        return int(self.world.draws("lot", self.number).integers(2**62))

    def reply(self, screen: Screen) -> RaterReply | None:
        """Answers and times.

        Examples:
            >>> from dialens.studies._examples import TEA
            >>> from dialens.studies._raters import seen
            >>> from dialens.studies._study import study_of
            >>> world = World(study_of(TEA), Population(), seed=1)
            >>> screen = seen(plan(world.study, "anchor=both,layout=together", seed=0)[2])
            >>> given = world.person(1).reply(screen)
            >>> sorted(given.answers)[:2], given == world.person(1).reply(screen)
            (['coherence-1', 'coherence-2'], True)
        """
        if screen not in self._screens[-1:]:  # a page may be loaded twice
            self._screens.append(screen)
        if self.leaves_after is not None and len(self._screens) > self.leaves_after:
            return None
        later = () if self.wave == FIRST else ("wave", self.wave)
        draw = self.world.draws("reply", self.number, screen.id, *later)
        before = self._screens[-2] if len(self._screens) > 1 else None
        seconds = screen_seconds(screen, before) * self.pace * float(np.exp(draw.normal(0, 0.35)))
        answers = {one.name: self._answer(draw, screen, one) for one in screen.fields}
        limit = screen.deadline_s
        if limit is not None and seconds > limit:
            reached = int(len(answers) * limit / seconds)
            late = dict.fromkeys(list(answers)[reached:])
            return RaterReply(answers | late, limit, overdue=True)
        away = float(np.exp(draw.normal(3, 0.8))) if draw.random() < _AWAY else 0.0
        return RaterReply(answers, round(seconds + away, 3), round(away, 3))

    def returns(self, wave: int) -> "SimulatedRater | None":
        """The same person in a later wave: opinions stay, noise is drawn anew."""
        if self.world.draws("returns", self.number, wave).random() < self.world.population.dropout:
            return None
        return replace(self, wave=wave, leaves_after=None, _screens=[])

    def _answer(self, draw: np.random.Generator, screen: Screen, asked: Field) -> JSON:
        if screen.kind == "consent":
            return "yes"
        if screen.kind in ("check", "comprehension") and asked.quality is None:
            return self._checked(draw, screen, asked)
        if screen.kind == "screening":
            return self._eligible(draw, asked)
        if not asked.targets:
            return simulate(draw, asked)
        if self.sleeps:
            slots = {
                slot: float(draw.normal(self.world.population.level, 25)) for slot in asked.targets
            }
            return self._rounded(asked, simulate(draw, asked, slots))
        noise = self.world.population.noise * (2.5 if self.speeds else 1.0)
        gold = self._gold(screen, asked)
        if gold:
            return simulate(draw, asked, gold)
        opinions = {slot: self._opinion(screen, asked, slot) for slot in asked.targets}
        moved = {
            slot: self._moved(draw, screen, asked, x, noise, self._leaning(screen, asked, slot))
            for slot, x in opinions.items()
        }
        return self._rounded(asked, simulate(draw, asked, moved))

    def _eligible(self, draw: np.random.Generator, asked: Field) -> JSON:
        """An answer of somebody who may take part, if there is one."""
        screening = self.world.study.design.screening
        assert screening is not None
        question = screening.questions[asked.name]
        rules = [rule for rule in screening.rules if rule.question == asked.name]
        for _ in range(_DRAWS):
            answer = validate(asked, simulate(draw, asked))
            if all(rule.holds(question, answer) for rule in rules):
                break
        return answer

    def _checked(self, draw: np.random.Generator, screen: Screen, asked: Field) -> JSON:
        """The right answer, for who reads the question."""
        misses = 0.7 if self.sleeps else 0.3 if self.speeds else 0.0
        design = self.world.study.design
        known: CheckedQuestion | None = design.checks.attention.get(asked.name)
        if screen.kind == "comprehension" and design.instructions.comprehension is not None:
            known = design.instructions.comprehension.questions.get(asked.name)
        if known is None or draw.random() < misses:
            return simulate(draw, asked)
        return known.answers[0]

    def _opinion(self, screen: Screen, asked: Field, slot: str) -> float:
        lines = [float(block["length"]) for block in screen.body if block["kind"] == "line"]
        if lines:
            return 100.0 if asked.name == STANDARD_LINE else 100 * lines[1] / lines[0]
        context, response = _judged(screen, slot)
        return self.world.opinion(str(asked.quality), context, response)

    def _leaning(self, screen: Screen, asked: Field, slot: str) -> float:
        """Points that a response gets for its place, its length and its tag."""
        people = self.world.population
        several = len(asked.targets) > 1 or "slot" in asked.options
        points = people.first_place if several and slot == "1" else 0.0
        for block in screen.body:
            if block["kind"] == "response" and block["slot"] == slot:
                points += people.length_effect * math.log2(max(len(block["text"]), 1) / _LENGTH)
                tag = self.world.tags.get(plain([block.get("tag", "")]))
                points += people.tags.get(tag, 0.0) if tag is not None else 0.0
        return points

    def _moved(
        self, draw: np.random.Generator, screen: Screen, asked: Field, opinion: float,
        noise: float, leaning: float,
    ) -> float:  # fmt: skip
        """An opinion on its way to an answer: own scale, noise, layout, deadline, anchor."""
        people = self.world.population
        own = opinion * self.scale + leaning + float(draw.normal(0, noise))
        if screen.kind == "practice" and asked.quality is None:
            return own
        qualities = {one.quality for one in screen.fields}
        if len(qualities) < len(self.world.study.design.qualities):
            own += people.layout_effect
        if screen.deadline_s is not None:
            own += people.deadline_effect
        kind, anchor = _anchor(screen, asked)
        pull = people.pull(kind) if kind else 0.0
        return (1 - pull) * own + pull * anchor

    def _gold(self, screen: Screen, asked: Field) -> dict[str, float]:
        """Clear opinions where the answer is known; nothing where it is not."""
        made = {}
        for slot in asked.targets:
            item, key = self.world.gold.get(_judged(screen, slot), (None, ""))
            for rule in item.expect if item is not None else ():
                if rule["quality"] != asked.quality:
                    continue
                if key == rule.get("above"):
                    made[slot] = 50 - _CLEAR
                elif key == rule["response"]:
                    made[slot] = _expected(asked, rule)
        return made if len(made) == len(asked.targets) else {}

    def _rounded(self, asked: Field, value: JSON) -> JSON:
        if asked.instrument != "magnitude" or value is None:
            return value
        step = self.habit * (asked.options.get("modulus") or _STANDARD) / _STANDARD
        return float(max(round(value / step), 1) * step) if value > step else value


def _known(item: Item, one: Candidate) -> tuple[str, str]:
    """What will stand on the screen of a candidate: as `_judged` reads it there."""
    said = [*names_of(item.media, None), *(said.text for said in one.before or item.context)]
    return plain(said), plain([one.text, *names_of(item.media, one.key)])


def _judged(screen: Screen, slot: str) -> tuple[str, str]:
    """What stands on the screen: the conversation, on its side, and the response in a slot."""
    said = [block["name"] for block in screen.body if block["kind"] == "media"]
    said += [
        turn["text"]
        for block in screen.body
        if block["kind"] == "dialogue"
        for turn in block["turns"]
        if turn.get("slot", slot) == slot
    ]
    response = [
        text
        for block in screen.body
        if block["kind"] == "response" and block["slot"] == slot
        for text in (block["text"] or "", *(one["name"] for one in block.get("media", ())))
    ]
    return plain(said), plain(response or [""])


def _anchor(screen: Screen, asked: Field) -> tuple[str | None, float]:
    """Which kind of anchor is on the screen, and where it lies among opinions."""
    shown = asked.options.get("anchor_value")
    text = any(block["kind"] == "anchor" and block["text"] for block in screen.body)
    if shown is None:
        return ("textual" if text else None), _STANDARD
    return ("both" if text else "numerical"), latent_of(asked, float(shown))


def latent_of(asked: Field, value: float) -> float:
    """A number on the instrument's scale as an opinion.

    Examples:
        >>> latent_of(Field("q", "magnitude", options={"modulus": 50.0}), 50.0)
        100.0
        >>> latent_of(Field("q", "likert", options={"points": 5, "first": 1}), 3)
        50.0
    """
    scale = instrument(asked.instrument).scale(asked)
    if scale.get("kind") == "magnitude":
        return 100 * value / float(scale.get("modulus") or _STANDARD)
    low, high = scale.get("low"), scale.get("high")
    if low is None or high is None or low == high:
        return _STANDARD
    return 100 * (value - float(low)) / (float(high) - float(low))


def _expected(asked: Field, rule: Mapping[str, JSON]) -> float:
    if "at_most" in rule and rule["at_most"] is not None:
        return min(50 - _CLEAR, latent_of(asked, float(rule["at_most"])))
    least = rule.get("at_least")
    return max(50 + _CLEAR, latent_of(asked, float(least)) if least is not None else 0.0)
