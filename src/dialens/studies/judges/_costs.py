"""What a run of judges would come to, before anything is asked."""

from dataclasses import dataclass

from dialens.studies.judges._ledger import FINAL, Ledger
from dialens.studies.judges._plan import JudgePlan, conversation
from dialens.studies.judges._prompts import Said
from dialens.studies.judges._settings import Judge


@dataclass
class PlannedCosts:
    """What is still to be asked of a judge.

    Attributes:
        judge: Its name.
        raters: Combinations of settings and repeats.
        cells: How many.
        screens: Places to be filled.
        unreadable: Places that cannot be, because of pictures or sounds.
        known: Places that an earlier run filled.
        saved: Places that read the same as another.
        requests: To be made.
        tokens_in: To be read, about.
        tokens_out: To be written, about.
        cost: None if no price is known.
        seconds: One after the other; none if nothing is known of the model.
    """

    judge: str
    raters: int = 0
    cells: int = 0
    screens: int = 0
    unreadable: int = 0
    known: int = 0
    saved: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    seconds: float | None = None


def planned_costs(made: JudgePlan, ledger: Ledger | None = None) -> list[PlannedCosts]:
    """What a run would come to, judge by judge; nothing is asked.

    Args:
        made: The plan.
        ledger: What was asked before, if anything.
    """
    taken: set[str] = set()
    return [_costs(made, judge, ledger, taken) for judge in made.judges.judges]


def _costs(made: JudgePlan, judge: Judge, ledger: Ledger | None, taken: set[str]) -> PlannedCosts:
    sittings = list(made.sittings(judge))
    model = made.models[judge.name]
    costs = PlannedCosts(
        judge.name, len({s.rater for s in sittings}), len({s.cell for s in sittings})
    )
    for sitting in sittings:
        history: list[Said] | None = []
        read_before = 0
        for question in made.questions(sitting):
            if question.unreadable is not None:
                costs.unreadable += 1
                continue
            costs.screens += 1
            fresh = sitting.rater.memory == "fresh"
            text = made.message(sitting, question, first=fresh or not (history or read_before))
            said = Said("study", text)
            if history is not None:
                key = made.key(sitting.rater, [*history, said], question)
                ask = None if ledger is None else ledger.ask(key)
                if ask is not None and ask.state in FINAL:
                    holds = (
                        None if ledger is None else ledger.holds(made.place(sitting, question), key)
                    )
                    costs.known += holds is True
                    costs.saved += holds is not True
                    history = [] if fresh else [*history, *conversation(ask, said)]
                    read_before = 0 if fresh else read_before + model.tokens(text)
                    continue
                if fresh and key in taken:
                    costs.saved += 1
                    continue
                taken.add(key)
            reply = made.predicted_tokens(sitting.rater, question)
            costs.requests += 1
            costs.tokens_in += read_before + model.tokens(text)
            costs.tokens_out += reply
            if not fresh:
                read_before += model.tokens(text) + reply
                history = None  # what comes next depends on what will be answered
    if model.prices is not None:
        per_read, per_written = model.prices
        costs.cost = (costs.tokens_in * per_read + costs.tokens_out * per_written) / 1e6
    pace = None if ledger is None else ledger.seconds_a_request(model.identity)
    costs.seconds = None if pace is None else pace * costs.requests
    return costs
