"""`dialens engagement negatives`: replies nobody would find engaging, made by rule."""

import json
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from dialens.base._run_record import RUN, Recorder
from dialens.cli.options import Force, Seed, names, shown
from dialens.engagement.labelled import PARTS, read_parts
from dialens.engagement.negatives import RANDOM, Recipe, count_made, mix_negatives
from dialens.errors import DialensError
from dialens.models.training.negatives import PAPER_RULES
from dialens.storage import atomic_file, atomic_folder

NEGATIVES = "negatives.json"

Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rules",
        help="Of insert, delete, copy, generic, loop, shuffle; the first four if not given.",
    ),
]
RandomReplies = Annotated[
    bool, typer.Option("--random", help="Also replies taken from another thread.")
]
Share = Annotated[float, typer.Option("--share", help="Of class 0 that is made by rule.")]


def negatives(
    red: Annotated[
        Path, typer.Argument(metavar="RED", help="What `dialens engagement label` wrote.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="A folder for both parts, or a .parquet file for the training part alone.",
        ),
    ],
    rules: Rules = None,
    random: RandomReplies = False,
    share: Share = 0.4,
    keep_all: Annotated[
        bool,
        typer.Option(
            "--keep-all",
            help="Keep every real post and let class 0 grow; else classes stay equal.",
        ),
    ] = False,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Mix negatives made by rule into class 0 (EnDex+NS).

    Each is made from an engaging post: its context stays, its text is spoiled. Rules take equal
    parts. The column `made_by` says which rule made a row and is empty for real posts. Training
    and validation are mixed apart.

    [bold]Examples[/]

      dialens engagement negatives red -o red-ns
      dialens engagement negatives red -o red-ns --random --share 0.5
      dialens engagement negatives red -o train.parquet --rules copy,generic
    """
    recipe = make_recipe(rules, random=random, share=share, seed=seed, keep_all=keep_all)
    arguments = {"red": red, "rules": recipe.rules, "share": share, "keep_all": keep_all}
    recorder = Recorder("engagement negatives", arguments, seed=seed)
    with recorder.step("read"):
        parts = read_parts(red)
    if output.suffix == ".parquet":
        if output.exists() and not force:
            raise DialensError(f"{output} exists. Name another file, or add --force.")
        with recorder.step("make"):
            mixed = {"train": mix_negatives(parts["train"], recipe)}
        with atomic_file(output) as scratch:
            mixed["train"].write_parquet(scratch)
    else:
        with atomic_folder(output, marker=NEGATIVES, force=force) as folder:
            with recorder.step("make"):
                mixed = {name: mix_negatives(table, recipe) for name, table in parts.items()}
            for name, table in mixed.items():
                table.write_parquet(folder / PARTS[name])
            _write_counts(mixed, recipe, folder / NEGATIVES)
            recorder.finish(folder / RUN)
    for name, table in mixed.items():
        told = ", ".join(f"{count:,} {kind}" for kind, count in count_made(table).items())
        print(f"{name}: {told}")
    print(f"\n{shown(output)}")


def make_recipe(
    rules: list[str] | None, *, random: bool, share: float, seed: int, keep_all: bool = False
) -> Recipe:
    """What `--rules`, `--random` and `--share` ask for.

    Examples:
        >>> make_recipe(["copy"], random=True, share=0.5, seed=0).rules
        ('copy', 'random')
    """
    chosen = tuple(dict.fromkeys(names(rules) or PAPER_RULES))
    if random and RANDOM not in chosen:
        chosen = (*chosen, RANDOM)
    return Recipe(chosen, share, seed, keep_all)


def _write_counts(mixed: dict[str, pl.DataFrame], recipe: Recipe, file: Path) -> None:
    told = {
        "rules": list(recipe.rules),
        "share": recipe.share,
        "seed": recipe.seed,
        "keep_all": recipe.keep_all,
        "rows": {name: count_made(table) for name, table in mixed.items()},
    }
    file.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
