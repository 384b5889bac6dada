r"""Fit the trait models that ship, by ten folds over people, and write their cards.

    python -m recipes.traits --data ../shared/data/traits --out src/dialens/models/data \
        --research packages/dialens-traits/src/dialens_traits

**What may go where.** The essays of Empathic Reactions are CC BY 4.0, so the model of state empathy
is part of dialens. The people's own answers (Big Five, Interpersonal Reactivity Index) were given
out for the shared tasks only, under no open licence: what is fitted on them goes to `--research`,
a package of its own. Empathic Reactions holds no such answers, so nothing there can replace them.

**Who is who.** The WASSA files of 2021 and 2023 name the same people by different ids: nearly all
speakers of 2023 took part in 2021, and those of the 2023 development set have new numbers again.
Folds over ids would test on people seen in training. Here a person is a set of ids with the same
gender, education, race, age and income and nearly the same answers (mean difference over nine
scales below 0.6; people who answered twice differ a little). These attributes serve for that and
nothing else. Traits are averaged over the ids of a person.

With ``--embeddings FILE.npy`` (one row a text, in the order of ``--texts-to FILE.txt``) ridge over
sentence embeddings is cross-validated too, for comparison.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dialens.models import topics, traits
from dialens.models.traits import DenseBlock, correlation, cross_validate, labelled

SCALES = {
    "personality_conscientiousness": "conscientiousness",
    "personality_openess": "openness",
    "personality_extraversion": "extraversion",
    "personality_agreeableness": "agreeableness",
    "personality_stability": "stability",
    "iri_perspective_taking": "perspective_taking",
    "iri_personal_distress": "personal_distress",
    "iri_fantasy": "fantasy",
    "iri_empathatic_concern": "empathic_concern",
}
ABOUT = ["gender", "education", "race", "age", "income"]
SAME_PERSON = 0.6
BIG_FIVE = ["agreeableness", "openness", "conscientiousness", "extraversion", "neuroticism"]
WASSA = {
    "name": "WASSA 2021 and 2023 shared tasks: essays and conversations about news (Tafreshi et "
    "al. 2021; Barriere et al. 2023; Omitaomu et al. 2022)",
    "licence": "research use; no open licence is stated",
}
REACTIONS = {
    "name": "Empathic Reactions (Buechel et al. 2018)",
    "licence": "CC BY 4.0",
}
RESEARCH_ONLY = (
    "LicenseRef-dialens-traits-research: research use only, as the data it was fitted on"
)
WHY_RESEARCH = (
    "Fitted on answers that the shared tasks gave out under no open licence: for research, not for "
    "products; a package of its own, dialens-traits, for that reason."
)
LIMITS = (
    "American crowd workers who wrote about sad news in English; self-reported scales. r says how "
    "people are ordered by a few hundred words each; a single turn is a weak sample, and other "
    "kinds of text may shift the scores. For comparing agents and texts, not for judging a human "
    "being. "
)


def read_table(file: Path, **options: Any) -> pl.DataFrame:
    """Read a table of strings, comma- or tab-separated by its ending."""
    separator = "," if file.suffix == ".csv" else "\t"
    return pl.read_csv(file, separator=separator, infer_schema_length=0, **options)


def essays(folder: Path) -> pl.DataFrame:
    """Return all essays with answers: ``source, id, text``, scales, and what tells people apart."""
    first, second = folder / "wassa2021", folder / "wassa2023"
    development = read_table(second / "WASSA23_essay_level_dev.tsv")
    answers = read_table(second / "goldstandard_dev.tsv", has_header=False)
    answers.columns = ["empathy", "distress", "emotion", *SCALES]
    parts = [
        ("2021", "response_id", read_table(first / "train.csv")),
        ("2021", "response_id", read_table(first / "dev.csv")),
        ("2021", "response_id", read_table(first / "test_features.tsv", quote_char=None)),
        ("2023", "speaker_id", read_table(second / "WASSA23_essay_level_with_labels_train.tsv")),
        ("2023", "speaker_id", development.hstack(answers.select(SCALES.keys()))),
    ]
    numbers = [pl.col(name).cast(pl.Float64, strict=False) for name in [*SCALES, *ABOUT]]
    return (
        pl.concat(
            part.select(pl.lit(source).alias("source"), pl.col(key).alias("id"), "essay", *numbers)
            for source, key, part in parts
        )
        .rename({"essay": "text"})
        .drop_nulls(list(SCALES))
    )


def conversations(folder: Path) -> pl.DataFrame:
    """Return what each speaker of 2023 said in each conversation, joined: ``source, id, text``."""
    parts = []
    for name in ("WASSA23_conv_level_with_labels_train", "WASSA23_conv_level_dev"):
        turns = read_table(folder / "wassa2023" / f"{name}.tsv", quote_char=None)
        speaker = pl.col("speaker_id").cast(pl.Float64, strict=False).cast(pl.Int64)
        parts.append(turns.select("conversation_id", "text", id=speaker.cast(pl.String)))
    said = pl.concat(parts).group_by("conversation_id", "id", maintain_order=True)
    return said.agg(pl.col("text").str.join("\n")).select(
        source=pl.lit("2023"), id="id", text="text"
    )


def people(written: pl.DataFrame) -> pl.DataFrame:
    """Return ``source, id, person`` and the person's traits."""
    ids = written.group_by("source", "id").agg(pl.col([*SCALES, *ABOUT]).first())
    known: dict[tuple[float, ...], list[list[np.ndarray]]] = {}
    persons = []
    for row in ids.sort("source", "id").iter_rows(named=True):
        about = tuple(row[name] for name in ABOUT)
        answers = np.array([row[name] for name in SCALES])
        candidates = known.setdefault(about, [])
        same = (
            place
            for place, seen in enumerate(candidates)
            if any(np.abs(answers - one).mean() < SAME_PERSON for one in seen)
        )
        place = next(same, len(candidates))
        if place == len(candidates):
            candidates.append([])
        candidates[place].append(answers)
        persons.append((*about, place))
    named = ids.sort("source", "id").with_columns(
        person=pl.Series([str(one) for one in persons]).rank("dense")
    )
    means = named.group_by("person").agg(pl.col(list(SCALES)).mean()).rename(SCALES)
    means = means.with_columns(neuroticism=8 - pl.col("stability"))
    return named.select("source", "id", "person").join(means, on="person")


def wassa(folder: Path) -> pl.DataFrame:
    """Read essays and conversations of both years, with who wrote them."""
    written = essays(folder)
    texts = pl.concat([written.select("source", "id", "text"), conversations(folder)])
    return texts.join(people(written), on=["source", "id"], how="inner", maintain_order="left")


def reactions(folder: Path) -> pl.DataFrame:
    """Read the messages of Empathic Reactions with their empathy."""
    table = read_table(folder / "empathic_reactions_messages_CCBY4.csv")
    return table.select(
        person="response_id", text="essay", state_empathy=pl.col("empathy").cast(pl.Float64)
    )


def compared(
    table: pl.DataFrame, name: str, embeddings: np.ndarray | None, seed: int
) -> dict[str, Any]:
    """Cross-validate every kind of features; returns the fits and, for embeddings, r."""
    found: dict[str, Any] = {}
    for features in (["ngrams"], ["topics"], ["ngrams", "topics"]):
        fitted = traits.fit(
            table, text="text", target=name, group="person", seed=seed, features=features
        )
        found["+".join(features)] = fitted
        print(fitted.report, flush=True)
    if embeddings is not None:
        rows = table.with_row_index("row").with_columns(pl.col("person").cast(pl.String))
        rows = rows.drop_nulls(name).sort("person", "text", name)
        data = labelled(table, text="text", target=name, group="person", folds=10)
        texts = embeddings[rows["row"].to_numpy()]
        units = texts
        if data.unit == "person":
            n = np.bincount(data.text_person)[:, None]
            units = np.stack([np.bincount(data.text_person, c) for c in texts.T], axis=1) / n
        outcome = cross_validate(data, [DenseBlock(units, texts)], seed=seed, folds=10)
        if data.unit == "person":
            whose = np.arange(len(data.names))
            r = correlation(data.person_target, outcome.unit_prediction, whose, seed=seed)
        else:
            r = correlation(data.text_target, outcome.text_prediction, data.text_person, seed=seed)
        found["embeddings"] = r
        print(f"  {name} by sentence embeddings: {r}", flush=True)
    return found


def main() -> None:
    """Fit, cross-validate and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="for models on open data")
    parser.add_argument("--research", type=Path, required=True, help="for models on research data")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of traits; by default all")
    parser.add_argument("--embeddings", type=Path)
    parser.add_argument("--texts-to", type=Path)
    options = parser.parse_args()
    answers, states = wassa(options.data), reactions(options.data)
    if options.texts_to:
        texts = [*answers["text"], *states["text"]]
        options.texts_to.write_text(json.dumps(texts), encoding="utf-8")
        return
    print(f"WASSA: {answers.height} texts of {answers['person'].n_unique()} people")
    vectors = np.load(options.embeddings) if options.embeddings else None
    table_hash = topics.load().sha256
    for name in [*BIG_FIVE, "empathic_concern", "state_empathy"]:
        if options.only and name not in options.only:
            continue
        state = name == "state_empathy"
        table, source = (states, REACTIONS) if state else (answers, WASSA)
        rows = slice(answers.height, None) if state else slice(0, answers.height)
        part = None if vectors is None else vectors[rows]
        found = compared(table, name, part, options.seed)
        offered = ["ngrams", "topics", "ngrams+topics"]
        level = "by_text" if state else "by_person"
        best = max(offered, key=lambda one: getattr(found[one].report, level).value or -1.0)
        fitted, report = found[best], found[best].report
        metrics = report.as_metrics()
        for other in offered:
            label = f"{level.replace('by', 'r')}_{other.replace('+', '_')}"
            metrics[label] = getattr(found[other].report, level).as_metric()
        if "embeddings" in found:
            metrics[f"{level.replace('by', 'r')}_sentence_embeddings"] = found[
                "embeddings"
            ].as_metric()
        about = (
            "texts, each by itself" if state else "agents or speakers, from all their text joined"
        )
        card = {
            "name": f"traits_{name}",
            "task": "regression",
            "labels": [name],
            "licence": "Apache-2.0" if state else RESEARCH_ONLY,
            "data": [{**source, "n": report.n_texts, "persons": report.n_persons}],
            "command": "python -m recipes.traits --data DATA --out OUT --research OUT "
            f"--seed {options.seed} --only {name}",
            "seed": options.seed,
            "validation": "ten folds by person, penalty chosen inside the training part; the kind "
            "of features was chosen by these figures, which flatters the best one a little",
            "features": best,
            "headline": report.headline,
            "metrics": metrics,
            "per_fold": list(report.per_fold),
            "topic_table_offered": table_hash,
            "intended_use": f"Scores of {name.replace('_', ' ')} for {about}.",
            "limits": LIMITS
            + (f"{report.weakness} " if report.weakness else "")
            + ("" if state else WHY_RESEARCH),
            "research_grade": not state,
        }
        folder = (options.out if state else options.research) / f"traits_{name}"
        traits.save(fitted.model, folder, card=card)
        loaded = traits.load(folder)
        sample = table["text"].head(200)
        drift = np.abs(loaded.predict(sample) - fitted.model.predict(sample)).max()
        size = (folder / "model.npz").stat().st_size
        print(f"{name}: {best} ships, {size / 1e3:.0f} kB, largest drift {drift:.1e}", flush=True)


if __name__ == "__main__":
    main()
