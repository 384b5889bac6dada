"""What language models said in a study, as metrics of the conversations it was made of."""

from dataclasses import replace
from pathlib import Path

from dialens.base import DialensError
from dialens.cli._options import extra
from dialens.corpus import Corpus, OnError
from dialens.metrics import Resources, ScoringPlan


def with_judges(
    plan: ScoringPlan, study: Path, corpus: Corpus, resources: Resources, on_error: OnError
) -> tuple[ScoringPlan, tuple[str, ...]]:
    """A plan with the metrics of a study's judges, and what has to be known of them.

    Args:
        plan: Without them.
        study: The study file, or its folder.
        corpus: The conversations.
        resources: Of the run.
        on_error: Whether what is not in the corpus is left out.
    """
    with extra("Studies", "studies"):
        from dialens.studies import load_study, study_file
        from dialens.studies.judges import LEDGER, Ledger
    from dialens.analysis.judges import judge_metrics

    place = study_file(study).parent / LEDGER
    if not place.exists():
        raise DialensError(
            f"--judges {study}: no language model has taken this study ({place} is not there). "
            f"First: dialens study judge {study}"
        )
    with Ledger.open(place) as ledger:
        found = judge_metrics(load_study(study), ledger, corpus, skip=on_error is not OnError.STOP)
    bound = tuple(card.bind(resources) for card in found.cards)
    return replace(plan, metrics=(*plan.metrics, *bound)), found.notes
