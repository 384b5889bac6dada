"""`dialens engagement ablate`: which reactions carry the signal (Figure 2 of EnDex)."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import altair as alt
import polars as pl
import typer
import vl_convert

from dialens.cli.engagement_evaluate import Quality
from dialens.cli.engagement_train import (
    Batch,
    Corpora,
    Epochs,
    Rate,
    Restart,
    Seeds,
    print_summary,
    rated_sets,
    seed_numbers,
)
from dialens.cli.options import Force, Seed, names, shown
from dialens.engagement.ablation import AGGREGATE, NEEDED, WORDS, Ablation, ablate
from dialens.engagement.labelled import PARTS, POSTS, read_parts, read_posts
from dialens.engagement.training import (
    TrainingData,
    TrainingPlan,
    check_encoder,
    depends_on,
    require_training,
    summarise,
    train_seeds,
)
from dialens.progress import progress
from dialens.report import RUN, Recorder
from dialens.storage import atomic_folder, open_state

ABLATION = "ablation.json"
CARD = "card.md"
_COMMON = "aggregate validation"


def ablate_dimensions(
    red: Annotated[
        Path, typer.Argument(metavar="RED", help="What `dialens engagement label` wrote.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    dimension: Annotated[
        list[str] | None,
        typer.Option(
            "--dimension",
            help="Of re, ae, ee, be, score; all if not given. The score is always compared.",
        ),
    ] = None,
    kappa: Annotated[
        float, typer.Option("--kappa", help="Standard deviations a post must stand out by.")
    ] = 1.0,
    encoder: Annotated[
        Path | None,
        typer.Option("--encoder", help="Also train a model on every set, from this encoder."),
    ] = None,
    epochs: Epochs = 2,
    rate: Rate = 5e-5,
    batch: Batch = 64,
    seeds: Seeds = None,
    corpus: Corpora = None,
    quality: Quality = None,
    seed: Seed = 0,
    restart: Restart = False,
    force: Force = False,
) -> None:
    """Pick the positives by one dimension alone, against the same negatives.

    Writes a training set a dimension (DIMENSION/train.parquet, validation.parquet), and a card with
    counts, overlap and correlations of the dimensions. With --encoder a model is trained on every
    set and seed and measured on the validation threads of the aggregate score and on the rated
    corpora you name: mean ± standard deviation, and the figure.

    [bold]Examples[/]

      dialens engagement ablate red -o ablation
      dialens engagement ablate red -o ablation --encoder all-MiniLM-L6-v2 --seeds 0-2 \
--corpus better.jsonl.gz
    """
    plan = TrainingPlan(epochs, rate, batch)
    chosen = seed_numbers(seeds)
    if encoder is not None:
        require_training()
        check_encoder(encoder)
    arguments: dict[str, object] = {"red": red, "dimension": names(dimension), "kappa": kappa}
    if encoder is not None:
        arguments |= {"encoder": encoder.name, "plan": asdict(plan), "seeds": chosen}
        arguments["corpus"] = corpus
    recorder = Recorder("engagement ablate", arguments, seed=seed)
    state = output.with_name(f"{output.name}.training")
    with atomic_folder(output, marker=ABLATION, force=force) as scratch:
        with recorder.step("read"):
            posts = read_posts(red / POSTS, needed=NEEDED)
            parts = read_parts(red)
            threads = {
                thread: name == "validation" for name in PARTS for thread in parts[name]["thread"]
            }
        with recorder.step("ablate"):
            made = ablate(
                posts,
                dimensions=names(dimension),
                kappa=kappa,
                seed=seed,
                held_out=threads,
            )
            for name, sets in made.sets.items():
                (scratch / name).mkdir()
                for part, table in sets.items():
                    table.write_parquet(scratch / name / PARTS[part])
        results = None
        if encoder is not None:
            with recorder.step("train"):
                results = _train(
                    made, encoder, plan, chosen, state, corpus, names(quality), restart=restart
                )
        _write(made, results, kappa, scratch)
        recorder.finish(scratch / RUN)
    if encoder is not None:
        shutil.rmtree(state)
    print(_counts(made, kappa))
    if results is not None:
        print_summary(results, ("dimension", "measure"))
    print(f"\n{shown(output / CARD)}, {ABLATION}, one folder a dimension")


def _train(
    made: Ablation,
    encoder: Path,
    plan: TrainingPlan,
    seeds: Sequence[int],
    state: Path,
    corpora: list[Path] | None,
    quality: list[str] | None,
    *,
    restart: bool,
) -> pl.DataFrame:
    """One model a dimension and seed; all are measured on the same sets."""
    rated = rated_sets(corpora, quality, plan.context_turns)
    common = {_COMMON: made.sets[AGGREGATE]["validation"]}
    all_data = {
        name: TrainingData(sets["train"], sets["validation"], also=common)
        for name, sets in made.sets.items()
    }
    about = {name: depends_on(data, encoder, plan, seeds, rated) for name, data in all_data.items()}
    if open_state(state, about, restart=restart):
        print(f"Going on with what {shown(state)} holds.")
    frames = []
    total = sum(data.train.height for data in all_data.values()) * plan.epochs * len(seeds)
    with progress("Training", total=total, unit="pairs") as advance:
        for name, data in all_data.items():
            results = train_seeds(
                data, encoder, plan, seeds, state / name, rated=rated, advance=advance
            )
            table = summarise(results)
            frames.append(table.select(pl.lit(name).alias("dimension"), pl.all()))
    return pl.concat(frames)


def _write(made: Ablation, results: pl.DataFrame | None, kappa: float, folder: Path) -> None:
    told: dict[str, Any] = {"kappa": kappa, **made.to_dict()}
    card = ["# Positives by one dimension", "", _counts(made, kappa), "", _overlap(made)]
    if results is not None:
        told["results"] = results.to_dicts()
        card += ["", "## Models", "", _grid(results.to_dicts()), "", "![Figure](ablation.png)"]
        spec = figure(results)
        (folder / "ablation.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
        page = vl_convert.vegalite_to_html(spec, bundle=True)
        (folder / "ablation.html").write_text(page, encoding="utf-8")
    text = json.dumps(told, indent=1, allow_nan=False)
    (folder / ABLATION).write_text(text + "\n", encoding="utf-8")
    (folder / CARD).write_text("\n".join(card) + "\n", encoding="utf-8")


def _counts(made: Ablation, kappa: float) -> str:
    rows = [
        {
            "dimension": WORDS[name],
            "known": f"{pick.known:,}",
            "above": pick.above,
            "positives": f"{pick.positives:,}",
            "left out as negative": f"{pick.also_negative:,}",
            "set": pick.reason or "made",
        }
        for name, pick in made.picks.items()
    ]
    sizes = "; ".join(
        f"{part}: {size:,} of each class (set by {WORDS.get(made.smallest[part], 'the negatives')})"
        for part, size in made.sizes.items()
    )
    return (
        f"{made.negatives:,} negatives (z of the score below −{kappa:g}), the same for every set. "
        f"{sizes}.\n\n{_grid(rows)}"
    )


def _overlap(made: Ablation) -> str:
    rows = made.pairs.to_dicts()
    for row in rows:
        row["dimension"], row["other"] = WORDS[row["dimension"]], WORDS[row["other"]]
    return (
        "## Overlap of what they pick, and correlation, over posts in which both are known\n\n"
        f"{_grid(rows)}\n\nThe aggregate is a weighted sum of the others: its correlations with "
        "them are part of its making."
    )


def _grid(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table.

    Examples:
        >>> print(_grid([{"a": 0.5, "b": None}]))
        | a | b |
        |---|---|
        | 0.500 | – |
    """
    heads = list(rows[0]) if rows else []

    def cell(value: Any) -> str:
        if value is None:
            return "–"
        return f"{value:.3f}" if isinstance(value, float) else str(value)

    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(cell(row[head]) for head in heads)} |" for row in rows]
    return "\n".join(lines)


def figure(results: pl.DataFrame) -> dict[str, Any]:
    """Mean ± standard deviation over seeds by dimension, one panel a measure."""
    ends = pl.col("sd").fill_null(0.0)
    shown_rows = results.filter(
        pl.col("measure").str.ends_with("pearson")
        | pl.col("measure").str.ends_with("spearman")
        | (pl.col("measure") == f"{_COMMON} AUC"),
        pl.col("mean").is_not_null(),
    ).with_columns(
        low=pl.col("mean") - ends,
        high=pl.col("mean") + ends,
        what=pl.col("dimension").replace_strict(dict(WORDS)),
    )
    order = [WORDS[name] for name in WORDS if name in set(shown_rows["dimension"])]
    y = alt.Y("what:N", sort=order, title=None, axis=alt.Axis(labelLimit=240))
    base = alt.Chart().encode(y=y)
    colour = alt.condition(
        f"datum.dimension == '{AGGREGATE}'", alt.value("#b4421f"), alt.value("#4a6a8a")
    )
    x = alt.X("mean:Q", title="mean ± sd over seeds", scale=alt.Scale(zero=False))
    layers = alt.layer(
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", color=colour),
        base.mark_point(size=90, filled=True, opacity=1).encode(x=x, color=colour),
    ).properties(width=260, height=30 * max(1, len(order)))
    data = alt.InlineData(values=shown_rows.to_dicts())
    header = alt.Header(title=None, labelFontSize=13)
    chart = layers.facet(alt.Facet("measure:N", header=header), columns=2, data=data)
    made: dict[str, Any] = chart.resolve_scale(x="independent").to_dict(validate=False)
    return made
