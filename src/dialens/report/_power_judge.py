"""The cheapest mix of people and a judge, in a sentence."""

from dialens.base import counted, number
from dialens.report._page import Finding
from dialens.statistics.power import JudgeMix


def mix_finding(mix: JudgeMix, wanted: float) -> Finding:
    """What to ask of people and of the judge, and what it costs with and without.

    Args:
        mix: What was found.
        wanted: The power that was wanted.

    Examples:
        >>> mix = JudgeMix(0.3, 0.7, 1, 76, 521, 152, 1042, 86.42, 0.8, 128, 256, 128.0)
        >>> print(mix_finding(mix, 0.8).claim)
        A difference of 0.3 between two agents takes 152 human ratings (76 items) and 1,042 by the \
judge (these and 445 more) for 86.42, instead of 256 human ratings for 128.00
    """
    what = f"difference of {mix.effect:g} between two agents"
    alone = f"{counted(mix.alone_ratings, 'human rating')}"
    raters = f"{counted(mix.raters, 'rater')} a dialogue"
    who = "" if mix.judge is None else f"; judge: {mix.judge}"
    who += "" if mix.chosen is None else f", {mix.chosen}"
    if mix.reason is not None:
        return Finding(
            f"Leave the judge out: a {what} takes {alone} ({mix.alone_items:,} items) for "
            f"{mix.alone_price:,.2f}, and a judge of r = {number(mix.r, 2)} does not help",
            f"{mix.reason}; {raters}, power {mix.power:.2f}{who}",
        )
    more = mix.judged_items - mix.items
    claim = (
        f"A {what} takes {counted(mix.ratings, 'human rating')} ({mix.items:,} items) and "
        f"{mix.judged:,} by the judge (these and {more:,} more) for {mix.price:,.2f}, instead of "
        f"{alone} for {mix.alone_price:,.2f}"
    )
    told = (
        f"r = {number(mix.r, 2)}; {raters}; saves {number(mix.saving, percent=True)} of human "
        f"ratings, and no judge of that r more than {number(mix.r**2, percent=True)}; power "
        f"{mix.power:.2f}, {wanted:g} wanted{who}"
    )
    return Finding(claim, told)
