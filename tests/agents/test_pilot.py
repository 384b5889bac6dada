"""How many dialogues a comparison needs: by arithmetic, by tables, and by simulating the test."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dialens.analysis.comparison import pilot
from dialens.cli._app import app
from dialens.corpus import Corpus, Dialogue, Turn, batches, write_corpus
from dialens.metrics import score
from dialens.statistics import Floats, Jackknife, skewed_t
from dialens.statistics.power import dialogs_for, found_with

COHEN = {0.2: (394, 199), 0.5: (64, 34), 0.8: (26, 15)}
"""Dialogues of each of two agents, and pairs, for power .80 at .05 of a t test (Cohen 1988; G*Power
3.1); the guard against skewness costs one more."""


@pytest.mark.parametrize(("effect", "needed"), COHEN.items())
def test_numbers_are_those_of_the_tables(effect: float, needed: tuple[int, int]) -> None:
    assert dialogs_for(effect, paired=False) == needed[0] + 1
    assert dialogs_for(effect, paired=True) == needed[1] + 1
    for dialogs, paired in zip(needed, (False, True), strict=True):
        found = found_with(dialogs + 1, paired=paired)
        assert found is not None
        assert found == pytest.approx(effect, rel=0.03)
        assert found <= effect


def test_few_dialogues_are_not_tested() -> None:
    assert found_with(5, paired=True) is None
    assert dialogs_for(9.0, paired=True) == 6


def said(words: int, number: int) -> str:
    return " ".join(f"w{(number * 31 + place) % 97}" for place in range(words))


def corpus(lengths: Mapping[str, Sequence[int]], *, same: bool) -> Corpus:
    """Agents whose dialogues have one turn each of so many words; to the same contexts or not."""
    return Corpus.of(
        [
            Dialogue("s", agent, f"{agent}-{n}", [
                Turn("U", "partner", f"Context {n if same else f'{agent} {n}'}"),
                Turn(agent, "agent", said(words, n)),
            ])
            for agent, several in lengths.items()
            for n, words in enumerate(several)
        ]
    )  # fmt: skip


def test_the_spread_is_that_of_dialogues_or_of_differences_within_pairs() -> None:
    rng = random.Random(1)
    first = [rng.randint(5, 30) for _ in range(25)]
    second = [words + rng.randint(-2, 4) for words in first]
    lengths = {"a": first, "b": second}
    apart = pilot(score(corpus(lengths, same=False), metrics=["length"]), ["length"])
    assert apart is not None
    assert (apart.paired, apart.dialogs) == (False, 25)
    pooled = np.sqrt((np.var(first, ddof=1) + np.var(second, ddof=1)) / 2)
    assert apart.deviations["length"] == pytest.approx(pooled)
    pairs = pilot(score(corpus(lengths, same=True), metrics=["length"]), ["length"])
    assert pairs is not None
    assert (pairs.paired, pairs.dialogs) == (True, 25)
    differences = np.subtract(first, second)
    assert pairs.deviations["length"] == pytest.approx(differences.std(ddof=1))
    found = found_with(25, paired=True)
    assert found is not None
    assert pairs.found(25)["length"] == pytest.approx(found * differences.std(ddof=1))


def test_nothing_is_said_of_what_does_not_vary_or_is_too_little() -> None:
    constant = corpus({"a": [7] * 10, "b": [7] * 10}, same=True)
    assert pilot(score(constant, metrics=["length"]), ["length"]) is None
    few = corpus({"a": [3, 4, 5], "b": [4, 5, 9]}, same=True)
    assert pilot(score(few, metrics=["length"]), ["length"]) is None


def means(values: Floats) -> Jackknife:
    n = values.shape[-1]
    left_out = (values.sum(axis=-1, keepdims=True) - values) / (n - 1)
    return Jackknife.of(values.mean(axis=-1), left_out, values)


RUNS = 4_000


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("effect", [1.0, 0.5, 0.3])
def test_the_number_named_has_the_power_named_with_the_test_of_compare(
    effect: float, paired: bool
) -> None:
    """Skewed values (a gamma of shape 4, skewness 1, as lengths are) and normal ones."""
    n = dialogs_for(effect, paired=paired)
    assert n is not None
    rng = np.random.default_rng(7)
    for skewed in (False, True):

        def draw(skewed: bool = skewed) -> Floats:
            if skewed:
                return (rng.gamma(4.0, size=(RUNS, n)) - 4.0) / 2.0
            return rng.standard_normal((RUNS, n))

        if paired:  # two agents on the same contexts: differences of independent halves
            differences = (draw() - draw()) / np.sqrt(2) + effect
            p = skewed_t(means(differences)).p
        else:
            p = skewed_t(means(draw() + effect), means(draw())).p
        power = float(np.mean(p < 0.05))
        assert 0.76 < power < 0.835, (effect, paired, skewed, power)


@pytest.mark.parametrize("paired", [True, False])
def test_a_pilot_of_twenty_names_a_number_that_is_right_on_average(paired: bool) -> None:
    """The spread of twenty is itself uncertain: power is near .8 on average, not each time."""
    rng = np.random.default_rng(3)
    powers = []
    for _ in range(40):
        twenty = rng.normal(20, 6, 20)
        spread = twenty.std(ddof=1)
        n = dialogs_for(3.0 / spread, paired=paired)
        assert n is not None
        first = rng.normal(3.0, 6, (200, n))
        p = skewed_t(means(first)).p if paired else skewed_t(
            means(first), means(rng.normal(0, 6, (200, n)))
        ).p  # fmt: skip
        powers.append(np.mean(p < 0.05))
    assert 0.7 < float(np.mean(powers)) < 0.86


@pytest.fixture
def talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(2)
    lengths = {name: [rng.randint(5, 30) for _ in range(20)] for name in ("a", "b")}
    made = corpus(lengths, same=True)
    frame = made.turns.collect()
    dialogues = [
        Dialogue(
            part["system"][0],
            part["agent"][0],
            part["dialog"][0],
            [Turn(*row) for row in part.select("speaker", "role", "text").rows()],
        )
        for part in frame.partition_by("dialog", maintain_order=True)
    ]
    write_corpus(batches(dialogues), tmp_path / "talks", source={"name": "talks"})
    return tmp_path / "talks"


def flat(output: str) -> str:
    return " ".join(output.split())


@pytest.mark.slow
def test_a_dry_run_says_what_could_be_found(talks: Path) -> None:
    command = ["agents", "collect", "-a", "hred", "-a", "seq2seq", "--dry-run"]
    bare = CliRunner().invoke(app, command)
    assert bare.exit_code == 0, bare.output
    assert "20 dialogues an agent find a difference of 0.93 standard deviations" in flat(
        bare.output
    )
    assert "For 0.5, 65 are needed, or 35 pairs." in flat(bare.output)
    known = CliRunner().invoke(app, [*command, "--pilot", str(talks)])
    assert known.exit_code == 0, known.output
    assert "20 pairs of dialogues find a difference of 0.68 standard deviations" in flat(
        known.output
    )
    assert "words a turn" in known.output
    scored = CliRunner().invoke(app, ["score", str(talks), "-o", "out", "-m", "length"])
    assert scored.exit_code == 0, scored.output
    also = CliRunner().invoke(app, [*command, "--pilot", "out", "--dialogs", "40"])
    assert "24 pairs of dialogues find" in flat(also.output)
    assert "24 openings make no more pairs than that" in flat(also.output)
    wrong = CliRunner().invoke(app, [*command[:-1], "--pilot", "out", "-o", "more"])
    assert "--pilot goes with --dry-run" in str(wrong.exception)


def test_a_collection_ends_with_what_it_can_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ann", "bob"):
        blocks = (
            f"I am {name}.\n{said(3 + n % 5 + (n % 3 if name == 'ann' else 0), n)}\n"
            for n in range(8)
        )
        (tmp_path / f"{name}.txt").write_text("\n".join(blocks))
    (tmp_path / "user.txt").write_text("\n\n".join(f"Question {n}?\nWell {n}." for n in range(8)))
    words = "agents collect -a script:ann.txt -a script:bob.txt -p script:user.txt --turns 4"
    command = [*words.split(), "--dialogs", "8", "-o", "talks"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "8 pairs of dialogues find a difference of " in flat(done.output)
    assert "(rough: from 8)" in flat(done.output)
    later = CliRunner().invoke(app, [*command[:-4], "--dialogs", "30", "-o", "talks", "--dry-run"])
    assert "16 dialogues are there already, 44 left." in flat(later.output)
    assert "30 pairs of dialogues find" in flat(later.output)
