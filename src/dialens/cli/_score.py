"""`dialens score`: conversations in, scores and a report out."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dialens.base import DialensError
from dialens.cli._completion import level_completion, metric_names
from dialens.cli._options import (
    AnyLanguage,
    Csv,
    Figures,
    Force,
    NoReport,
    Quiet,
    level_names,
    names,
)
from dialens.cli._scoring_options import AS_USUAL, ScoringOptions, takes_scoring_options


class EngineChoice(StrEnum):
    """Where conversations are scored."""

    LOCAL = "local"
    SPARK = "spark"


@takes_scoring_options
def score(
    corpus: Annotated[
        list[Path],
        typer.Argument(
            metavar="CORPUS...",
            help="Files or folders to read; several are several systems, to be compared.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path("out"),
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            "-m",
            autocompletion=metric_names,
            help="Metrics or families, with commas; `automatic` for those of the field, `all` for "
            "everything; all but the automatic ones by default.",
        ),
    ] = None,
    levels: Annotated[
        list[str] | None,
        typer.Option(
            "--levels",
            help="Among turn, dialog, agent, system; default: all.",
            autocompletion=level_completion,
        ),
    ] = None,
    judges: Annotated[
        Path | None,
        typer.Option(
            "--judges",
            metavar="STUDY",
            help="A study of these conversations that language models took (`dialens study "
            "judge`): what they said becomes metrics, judge_QUALITY.",
        ),
    ] = None,
    scoring: ScoringOptions = AS_USUAL,
    engine: Annotated[
        EngineChoice,
        typer.Option(
            "--engine",
            help="Score on this machine (local), or on a Spark cluster; the numbers are the same. "
            "There --device auto is cuda if Spark gives every executor a GPU.",
        ),
    ] = EngineChoice.LOCAL,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            help="With --engine spark: spark://host:7077, or local[4] for four cores of this "
            "machine; default: all its cores.",
        ),
    ] = None,
    any_language: AnyLanguage = False,
    no_report: NoReport = False,
    quiet: Quiet = False,
    csv: Csv = False,
    figures: Figures = None,
    force: Force = False,
) -> None:
    """Score conversations at every level and write a report.

    Writes scores.parquet (one row a value), agents.csv (one row an agent, for spreadsheets),
    report.html (to look at) and run.json (what was done, with what) into the output folder.

    [bold]Examples[/]

      dialens score chats.jsonl -o out
      dialens score v1.jsonl v2.jsonl -o out
      dialens score logs/ -o out --on-error skip
      dialens score logs/ -o out --agent my-bot
      dialens score chats.csv -o out --column text=Message --column dialog="Conversation ID"
      dialens score corpus -o out --metrics emotion,language_style_matching --levels agent,system
      dialens score corpus -o out --models none --no-report --quiet
      dialens score corpus -o out --lexicon emotion=NRC-Hashtag-Emotion-Lexicon-v0.2.txt
      dialens score corpus -o out --model toxicity=my-classifier/
      dialens score corpus -o out --metrics all --weights bert_score=roberta-large/
      dialens score corpus -o out --metrics bert_score --metric-option bert_score.layer=9
      dialens score chats.jsonl -o out --judges judged
      dialens score corpus -o shared/out --engine spark --master spark://host:7077
    """
    from dialens.cli._scoring import score_asked

    if master is not None and engine is not EngineChoice.SPARK:
        raise DialensError(f"--master {master} goes with --engine spark.")

    score_asked(
        corpus,
        output,
        scoring,
        metrics=names(metrics),
        levels=level_names(levels),
        judges=judges,
        master=(master or "local[*]") if engine is EngineChoice.SPARK else None,
        any_language=any_language,
        with_report=not no_report,
        quiet=quiet,
        csv=csv,
        figures=figures,
        force=force,
    )
