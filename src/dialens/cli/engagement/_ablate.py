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

from dialens.base import RUN, Recorder, atomic_folder, open_state, progress
from dialens.cli._options import Force, Seed, names, shown
from dialens.cli.engagement._evaluate import Quality
from dialens.cli.engagement._train import (
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
from dialens.engagement import (
    ABLATION_COLUMNS,
    AGGREGATE,
    PARTS,
    POSTS,
    WORDS,
    Ablation,
    TrainingData,
    TrainingPlan,
    ablate,
    check_encoder,
    depends_on,
    read_parts,
    read_posts,
    require_training,
    summarise,
    train_seeds,
)

ABLATION = "ablation.json"
CARD = "card.md"
_COMMON = "aggregate validation"


def ablate_dimensions(
    red: Annotated[
        Path, typer.Argument(metavar="RED", help="The folder that `engagement label` wrote.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    dimension: Annotated[
        list[str] | None,
        typer.Option(
            "--dimension",
            help="Among re, ae, ee, be, score; default: all. The score is always compared.",
        ),
    ] = None,
    kappa: Annotated[
        float,
        typer.Option("--kappa", help="Standard deviations above the mean that make a positive."),
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
    """Compare training sets whose positives are chosen by one dimension alone.

    The negatives are the same in all of them. Writes a training set for each dimension
    (DIMENSION/train.parquet, validation.parquet), and a card with counts, overlap and correlations
    of the dimensions. With --encoder a model is trained on every set and seed and evaluated on the
    validation threads of the aggregate score and on the rated corpora you name: mean ± standard
    deviation, and the figure.

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
    with atomic_folder(output, inputs=[red, *(corpus or [])], force=force) as scratch:
        with recorder.step("read"):
            posts = read_posts(red / POSTS, needed=ABLATION_COLUMNS)
            parts = read_parts(red)
            threads = {
                thread: name == "validation" for name in PARTS for thread in parts[name]["thread"]
            }
        with recorder.step("ablate"):
            ablation = ablate(
                posts,
                dimensions=names(dimension),
                kappa=kappa,
                seed=seed,
                held_out=threads,
            )
            for name, sets in ablation.sets.items():
                (scratch / name).mkdir()
                for part, table in sets.items():
                    table.write_parquet(scratch / name / PARTS[part])
        results = None
        if encoder is not None:
            with recorder.step("train"):
                results = _train(
                    ablation, encoder, plan, chosen, state, corpus, names(quality), restart=restart
                )
        _write(ablation, results, kappa, scratch)
        recorder.finish(scratch / RUN)
    if encoder is not None:
        shutil.rmtree(state)
    print(_counts(ablation, kappa))
    if results is not None:
        print_summary(results, ("dimension", "measure"))
    print(f"\n{shown(output / CARD)}, {ABLATION}, one folder a dimension")


def _train(
    ablation: Ablation,
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
    common = {_COMMON: ablation.sets[AGGREGATE]["validation"]}
    all_data = {
        name: TrainingData(sets["train"], sets["validation"], also=common)
        for name, sets in ablation.sets.items()
    }
    about = {name: depends_on(data, encoder, plan, seeds, rated) for name, data in all_data.items()}
    if open_state(state, about, restart=restart):
        print(f"Resuming the interrupted run in {shown(state)}.")
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


def _write(ablation: Ablation, results: pl.DataFrame | None, kappa: float, folder: Path) -> None:
    content: dict[str, Any] = {"kappa": kappa, **ablation.to_dict()}
    card = ["# Positives by one dimension", "", _counts(ablation, kappa), "", _overlap(ablation)]
    if results is not None:
        content["results"] = results.to_dicts()
        card += ["", "## Models", "", _grid(results.to_dicts()), "", "![Figure](ablation.png)"]
        spec = figure(results)
        (folder / "ablation.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
        page = vl_convert.vegalite_to_html(spec, bundle=True)
        (folder / "ablation.html").write_text(page, encoding="utf-8")
    text = json.dumps(content, indent=1, allow_nan=False)
    (folder / ABLATION).write_text(text + "\n", encoding="utf-8")
    (folder / CARD).write_text("\n".join(card) + "\n", encoding="utf-8")


def _counts(ablation: Ablation, kappa: float) -> str:
    rows = [
        {
            "dimension": WORDS[name],
            "known": f"{pick.known:,}",
            "above": pick.above,
            "positives": f"{pick.positives:,}",
            "left out as negative": f"{pick.also_negative:,}",
            "set": pick.reason or "made",
        }
        for name, pick in ablation.picks.items()
    ]
    sizes = "; ".join(
        f"{part}: {size:,} of each class "
        f"(set by {WORDS.get(ablation.smallest[part], 'the negatives')})"
        for part, size in ablation.sizes.items()
    )
    return (
        f"{ablation.negatives:,} negatives (z of the score below −{kappa:g}), "
        "the same for every set. "
        f"{sizes}.\n\n{_grid(rows)}"
    )


def _overlap(ablation: Ablation) -> str:
    rows = ablation.pairs.to_dicts()
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
    specification: dict[str, Any] = chart.resolve_scale(x="independent").to_dict(validate=False)
    return specification
