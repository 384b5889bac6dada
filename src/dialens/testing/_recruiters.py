"""What every kind of recruiter promises, as far as that shows without its platform."""

from dataclasses import replace
from decimal import Decimal

from pydantic import ValidationError

from dialens.studies import TEA, Study, study_of
from dialens.studies.recruiters import Access, Recruiter, RecruiterKind, money
from dialens.testing._promise import promise

_PLACES = 7


def check_recruiter(kind: RecruiterKind, access: Access | None = None) -> None:
    """Check that a kind of recruiter keeps its promises; its platform is not contacted.

    Its settings say what they mean and refuse what they do not know. It has the name of its kind,
    and says what people cost: in whole cents and the currency of the study file, for all of them.

    Args:
        kind: To check.
        access: Tokens it cannot be opened without.

    Raises:
        AssertionError: Says which promise is broken.

    Examples:
        >>> from dialens.studies.recruiters import recruiters
        >>> check_recruiter(recruiters()["link"])
    """
    who = f"The recruiter {kind.name}"
    promise(
        kind.parameters or not kind.entrance,
        f"{who} adds nothing to the address: nobody would ever be let in.",
    )
    promise(
        len(set(kind.parameters)) == len(kind.parameters),
        f"{who} adds the same parameter twice to the address.",
    )
    for name, info in kind.settings.model_fields.items():
        promise(
            name == "kind" or info.description,
            f"{who}: the setting {name} does not say what it is.",
        )
    try:
        kind.settings(kind=kind.name, no_such_setting=1)  # type: ignore[call-arg]
    except ValidationError:
        pass
    else:
        raise AssertionError(f"{who} takes settings that it does not declare.")
    study = _study(kind)
    _check_costs(kind, kind.open(study, access or Access({})), study)


def _study(kind: RecruiterKind) -> Study:
    study = study_of(TEA)
    settings = kind.settings(kind=kind.name, reward=1.5)
    return replace(study, design=study.design.model_copy(update={"recruiter": settings}))


def _check_costs(kind: RecruiterKind, made: Recruiter, study: Study) -> None:
    who = f"The recruiter {kind.name}"
    promise(made.name == kind.name, f"{who} calls itself {made.name}.")
    currency = study.design.recruiter.currency
    costs = {
        "estimate()": (made.estimate(study, _PLACES), money(1.5)),
        "bonus_cost()": (made.bonus_cost(study, Decimal("0.25"), _PLACES), Decimal("0.25")),
    }
    for what, (cost, each) in costs.items():
        promise(cost.people == _PLACES, f"{who}: {what} is for {cost.people}, not {_PLACES}.")
        promise(cost.each == each, f"{who}: {what} pays {cost.each} to each, not {each}.")
        promise(
            cost.currency == currency,
            f"{who}: {what} is in {cost.currency}; the study file says {currency}.",
        )
        promise(
            cost.fee_each >= 0 and cost.fee_each == cost.fee_each.quantize(Decimal("0.01")),
            f"{who}: {what} has a fee of {cost.fee_each}, which is no amount in whole cents.",
        )
