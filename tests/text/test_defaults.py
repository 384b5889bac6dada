"""The shipped lists are what their cards say, and the emotion lexicon can be built again."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.text import (
    FUNCTION_WORD_CATEGORIES,
    PLUTCHIK,
    Lexicon,
    card,
    emotion_lexicon,
    function_words,
    is_word,
    read_emotion_lexicon,
    stop_words,
    tokenise_texts,
)
from recipes import emotion_lexicon as build

SHIPPED = {
    "emotion_goemotions.tsv": emotion_lexicon,
    "function_words.tsv": function_words,
    "stop_words.txt": stop_words,
}


def categories_of(lexicon: Lexicon, word: str) -> set[str]:
    row = lexicon.weights(pl.Series([word]))[0]
    return {name for name, weight in zip(lexicon.categories, row, strict=True) if weight}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_card_fits_the_file(name: str) -> None:
    about = card(Path(name).stem)
    content = (files("dialens.text") / "data" / name).read_bytes()
    lexicon = SHIPPED[name]()
    assert about["file_sha256"] == hashlib.sha256(content).hexdigest()
    assert about["sha256"] == lexicon.sha256
    assert about["terms"] == len(lexicon)
    assert (about["name"], about["licence"]) == (lexicon.name, lexicon.licence)
    assert {"task", "source", "attribution", "method", "intended_use", "limits"} <= about.keys()
    assert lexicon.notes == ()
    assert SHIPPED[name]() is lexicon  # read once


@pytest.mark.parametrize("name", SHIPPED)
def test_every_term_is_a_token(name: str) -> None:
    terms = sorted(SHIPPED[name]().terms)
    assert tokenise_texts(terms) == [[term] for term in terms]


def test_the_emotion_lexicon_is_weighted_positive_and_not_nrcs() -> None:
    lexicon = emotion_lexicon()
    assert lexicon.categories == PLUTCHIK
    assert lexicon.weighted
    assert bool((lexicon.entries["weight"] > 0).all())
    assert "nrc" not in lexicon.name.lower()
    clear = {"furious": "anger", "gross": "disgust", "terrified": "fear", "haha": "joy"}
    clear |= {"crying": "sadness", "shocked": "surprise", "curious": "anticipation"}
    found = lexicon.weights(pl.Series(list(clear))).argmax(axis=1)
    assert [PLUTCHIK[i] for i in found] == list(clear.values())


def test_the_card_reports_figures_with_n_and_intervals() -> None:
    evaluation = card("emotion_goemotions")["evaluation"]
    assert evaluation["n_comments"] == 5427
    for emotion in PLUTCHIK:
        figures = evaluation["per_emotion"][emotion]
        low, high = figures["auc"]["ci95"]
        assert figures["auc_by_chance"] < low <= figures["auc"]["estimate"] <= high <= 1
        assert figures["n_positive"] > 0


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("i'm", {"personal_pronouns", "auxiliary_verbs"}),
        ("don't", {"auxiliary_verbs", "negations"}),
        ("dont", {"auxiliary_verbs", "negations"}),
        ("it's", {"impersonal_pronouns", "auxiliary_verbs"}),
        ("her", {"personal_pronouns"}),
        ("nobody", {"impersonal_pronouns", "negations"}),
        ("the", {"articles"}),
        ("because", {"conjunctions"}),
        ("between", {"prepositions"}),
        ("n't", {"negations"}),
        ("'ve", {"auxiliary_verbs"}),
        ("several", {"quantifiers"}),
        ("very", {"adverbs"}),
        ("well", {"adverbs"}),  # not we'll without its apostrophe
        ("ill", set()),  # nor i'll
        ("castle", set()),
    ],
)
def test_function_words_stand_where_a_grammar_puts_them(word: str, expected: set[str]) -> None:
    assert categories_of(function_words(), word) == expected


def test_function_words_are_nine_unweighted_classes_without_wildcards() -> None:
    lexicon = function_words()
    assert lexicon.categories == FUNCTION_WORD_CATEGORIES
    assert not lexicon.weighted
    assert not lexicon.entries["wildcard"].any()
    assert categories_of(lexicon, "a") == {"articles"}


def test_contractions_are_listed_with_their_halves() -> None:
    """i'll needs i among the pronouns and 'll among the auxiliaries, and so on for all."""
    lexicon = function_words()
    for term in lexicon.terms - {"ya'll"}:  # a spelling of y'all
        stem, apostrophe, clitic = term.partition("'")
        if stem and apostrophe and clitic in {"m", "re", "ve", "ll", "d"}:
            found = categories_of(lexicon, term)
            # (a contracted "when" or "where" asks; it does not join clauses)
            halves = categories_of(lexicon, stem) - {"conjunctions"}
            assert found == halves | {"auxiliary_verbs"}, term
            assert categories_of(lexicon, f"'{clitic}") == {"auxiliary_verbs"}


def test_stop_words_are_words_and_leave_content_alone() -> None:
    terms = pl.DataFrame({"term": sorted(stop_words().terms)})
    assert terms.filter(~is_word("term")).height == 0
    for word in ("love", "money", "quickly", "sad", "great"):
        assert categories_of(stop_words(), word) == set()


# ------------------------------------------------------------------------------ building it again


@pytest.fixture
def synthetic(tmp_path: Path) -> Path:
    """A folder like that of GoEmotions in which every label has a word of its own."""
    folder = tmp_path / "goemotions"
    folder.mkdir()
    labels = [*sorted({label for group in build.MAPPING.values() for label in group}), "neutral"]
    (folder / "labels.txt").write_text("\n".join(labels), encoding="utf-8")
    rng = np.random.default_rng(5)
    common = ["the", "of", "[NAME]", "and", "table", "!"]
    for split, repeats in (("train", 12), ("dev", 3), ("test", 3)):
        lines = []
        for i, label in enumerate(labels * repeats):
            words = [*rng.choice(common, 4), f"{label}word", "nan" if label == "fear" else "so"]
            lines.append(f"{' '.join(words)}\t{i % len(labels)}\tid{i}\n")
        (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


def test_the_lexicon_can_be_built_again(
    synthetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "REPEATS", 20)
    assert build.main([str(synthetic), "--out", str(tmp_path / "a")]) == 0
    assert build.main([str(synthetic), "--out", str(tmp_path / "b")]) == 0
    written = tmp_path / "a" / "emotion_goemotions.tsv"
    assert written.read_bytes() == (tmp_path / "b" / written.name).read_bytes()
    lexicon = read_emotion_lexicon(written, name="synthetic")
    for emotion, group in build.MAPPING.items():
        for label in group:
            assert emotion in categories_of(lexicon, f"{label}word")
    assert "neutralword" not in lexicon.terms
    assert "name" not in lexicon.terms
    assert "!" not in lexicon.terms
    assert categories_of(lexicon, "nan") == {"fear"}
    about = json.loads((tmp_path / "a" / "emotion_goemotions.card.json").read_text("utf-8"))
    assert about["sha256"] == lexicon.sha256
    assert about["evaluation"]["mean_auc"] > 0.95  # each label gives itself away


def test_the_lexicon_compared_with_itself_agrees(
    synthetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "REPEATS", 20)
    build.main([str(synthetic), "--out", str(tmp_path)])
    twin = tmp_path / "emotion_goemotions.tsv"
    build.main([str(synthetic), "--out", str(tmp_path / "again"), "--compare", str(twin)])
    about = json.loads((tmp_path / "again" / "emotion_goemotions.card.json").read_text("utf-8"))
    figures = about["agreement"]["per_emotion"]
    assert all(figures[e]["pearson"]["estimate"] == pytest.approx(1) for e in PLUTCHIK)


def test_auc_and_average_precision_by_hand() -> None:
    score = np.array([0.9, 0.8, 0.8, 0.1])
    truth = np.array([True, True, False, False])
    # Pairs (positive, negative): .9>.8, .9>.1, .8=.8 (half), .8>.1 → 3.5 of 4.
    assert build.auc(score, truth) == pytest.approx(3.5 / 4)
    # Recall steps: 1/2 at precision 1, then 1/2 at precision 2/3 (the tie enters together).
    assert build.average_precision(score, truth) == pytest.approx(1 / 2 + 1 / 2 * 2 / 3)
    drawn = np.array([2.0, 0.0, 1.0, 1.0])
    assert build.auc(score, truth, drawn) == pytest.approx(1.0)
    x, y = np.array([1.0, 2.0, 3.0, 9.0]), np.array([2.0, 4.0, 6.0, 0.0])
    assert build.pearson(x, y, np.array([1.0, 1.0, 1.0, 0.0])) == pytest.approx(1.0)
    assert build.entropies(np.array([[1.0, 1.0], [3.0, 0.0]])) == pytest.approx([np.log(2), 0])


def test_the_shipped_lexicon_is_what_the_script_makes(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "REPEATS", 2)
    build.main([str(shared_data / "emotions" / "goemotions"), "--out", str(tmp_path)])
    shipped = files("dialens.text") / "data" / "emotion_goemotions.tsv"
    assert (tmp_path / "emotion_goemotions.tsv").read_bytes() == shipped.read_bytes()
