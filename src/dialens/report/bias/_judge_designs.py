"""How steady judges are in a study's report: shares of variance, designs and prices, panels."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.analysis.judges import ALL_JUDGES, PEOPLE_ALONE
from dialens.base import counted, interval, listed, number, p_value
from dialens.report._charts import Chart, named, specification
from dialens.report._page import Block, Finding, Findings, Plot, Section, Text, folded
from dialens.report._table import Table
from dialens.report.bias._designs_in_words import (
    FACETS,
    TARGETS,
    cheapest,
    in_words,
    price_of,
    reliability,
    tried_up_to,
    worth_of,
)

_TOPIC = "judge designs"
_MOST_JUDGES = 6
_ITEMS, _LEVELS, _BY_JUDGE = "Items", "Level", "Items × judge"
_BY_PROMPT, _BY_OTHER, _REST = "Items × prompt", "Items × others", "Repeat and rest"
_PARTS = (_ITEMS, _LEVELS, _BY_JUDGE, _BY_PROMPT, _BY_OTHER, _REST)
_STATISTICS = {
    "fleiss_kappa": "Fleiss’ kappa",
    "alpha_nominal": "Krippendorff’s alpha",
    "alpha_ordinal": "Krippendorff’s alpha",
    "alpha_interval": "Krippendorff’s alpha",
}


def cheapest_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """The cheapest design that is reliable enough, quality by quality."""
    designs = analysis.judge_designs.designs
    for (quality,), part in designs.group_by(["quality"], maintain_order=True):
        if part["relative"].count():
            yield from _cheapest(str(quality), part.drop_nulls("relative"))
        elif part["ratings"].count():
            claim = f"Judges do not tell items apart on {quality}, so no number of them is enough"
            yield Finding(claim, str(part["reason"][0]), clear=False, topic=_TOPIC)


def steadiness_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Where the variance of each judge lies, and what judges do to a panel of people."""
    yield from _shares(analysis.judge_designs.variance)
    panel = analysis.judge_panel.filter(
        pl.col("than") == PEOPLE_ALONE, pl.col("statistic").is_in(["ICC(2,1)", "alpha_nominal"])
    ).drop_nulls("change")
    for (judge,), rows in panel.group_by(["judge"], maintain_order=True):
        yield _joins(str(judge), rows)


def design_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """The same, and conditions in which raters agree more than in others, by kappa and alpha."""
    yield from steadiness_findings(analysis)
    rows = analysis.agreement_differences.filter(pl.col("p_adjusted") < 0.05)
    for row in rows.iter_rows(named=True):
        more = "further" if row["value"] > 0 else "less far"
        factor, _, levels = row["comparison"].partition(": ")
        level, _, other = levels.partition(" − ")
        yield Finding(
            f"Raters agree {more} on {row['quality']} with {factor} “{level}” than “{other}”",
            f"{_STATISTICS[row['statistic']]} {number(row['first'], 2)} and "
            f"{number(row['second'], 2)}, difference {number(row['value'], 2)}, 95 % interval "
            f"{interval(row['low'], row['high'], 2)}; corrected p {p_value(row['p_adjusted'])}",
            clear=True,
            topic="agreement",
        )


def _cheapest(quality: str, designs: pl.DataFrame) -> Iterator[Finding]:
    best = designs.sort("relative", descending=True).row(0, named=True)
    reached = {target: cheapest(designs, target) for target in TARGETS}
    top, lower = (reached[target] for target in TARGETS)
    tried = {name: tried_up_to(designs[f"{name}s"]) for name in FACETS}
    upto = f"of up to {listed([counted(most, name) for name, most in tried.items()])}"
    if top is not None:
        claim = f"On {quality}, {in_words(top)} reach 0.80, the cheapest design that does"
        told = [worth_of(top), f"tried were designs {upto}"]
        if any(top[f"{name}s"] > most for name, most in tried.items()):
            claim = f"On {quality}, {in_words(top)} reach 0.80, and no design {upto} does"
            told = [worth_of(top)]
    else:
        claim = f"No design {upto} reaches 0.80 on {quality}"
        told = [f"the best, {in_words(best)}, comes to {reliability(best['relative'])}"]
    if lower is None:
        told.append("none reaches 0.70")
    elif top is None or lower["ratings"] != top["ratings"]:
        told.append(f"0.70 takes {in_words(lower)}: {worth_of(lower)}")
    for row in designs.filter("now").iter_rows(named=True):
        told.append(f"as judged, {in_words(row)}: {reliability(row['relative'])}")
    still = [name for name in FACETS if designs[f"{name}s"].max() == 1]
    if still:
        told.append(f"with one {listed(still)}: what others would change is not in it")
    yield Finding(claim, "; ".join(told), clear=True, topic=_TOPIC)


def _shares(variance: pl.DataFrame) -> Iterator[Finding]:
    """What of each judge's variance is not the items'."""
    known = variance.filter(pl.col("judge") != ALL_JUDGES).drop_nulls("share")
    judges = known["judge"].unique(maintain_order=True).to_list()
    for judge in judges[:_MOST_JUDGES]:
        mine = known.filter(pl.col("judge") == judge)
        held, rest = [], []
        for (quality,), rows in mine.group_by(["quality"], maintain_order=True):
            sums: dict[str, float] = {}
            for effect, share in rows.select("effect", "share").iter_rows():
                sums[_part(effect)] = sums.get(_part(effect), 0.0) + share
            own = number(sums.pop(_ITEMS, 0.0), percent=True)
            held.append(f"{own} ({quality})")
            largest = sorted(sums.items(), key=lambda one: -one[1])[:2]
            told = [f"{part.lower()} {number(share, percent=True)}" for part, share in largest]
            rest.append(f"{quality}: {listed(told)}")
        yield Finding(
            f"Of the variance of {judge}’s ratings, items hold {listed(held)}",
            f"the most of what is left: {'; '.join(rest)}",
            clear=True,
            topic=_TOPIC,
        )


def _effect(name: str) -> str:
    return name.replace("think", "thought")


def _joins(judge: str, rows: pl.DataFrame) -> Finding:
    """What a judge does to the agreement of people, all qualities in one sentence."""
    moved: dict[str, list[str]] = {}
    told = []
    for row in rows.iter_rows(named=True):
        clear = row["p_adjusted"] is not None and row["p_adjusted"] < 0.05
        way = ("rises" if row["change"] > 0 else "falls") if clear else "does not clearly change"
        moved.setdefault(way, []).append(row["quality"])
        what = "ICC(2,1)" if row["statistic"] == "ICC(2,1)" else _STATISTICS[row["statistic"]]
        reach = row["reason"]
        if row["low"] is not None:
            bounds = interval(row["low"], row["high"], 2)
            reach = f"95 % interval {bounds}, corrected p {p_value(row['p_adjusted'])}"
        told.append(
            f"{row['quality']}: {what} from {number(row['other'], 2)} to "
            f"{number(row['value'], 2)}, change {number(row['change'], 2)}, {reach}"
        )
    ways = [f"{way} on {listed(qualities)}" for way, qualities in moved.items()]
    claim = f"When {judge} joins people, their agreement {listed(ways)}"
    clear = any(way in moved for way in ("rises", "falls"))
    return Finding(claim, "; ".join(told), clear=clear, topic=_TOPIC)


def design_tables(analysis: StudyAnalysis) -> dict[str, Table]:
    """Designs, variances, panels and differences of agreement, where there are any."""
    found = analysis.judge_designs
    made = []
    if found.designs.height:
        made.append(_designs(found.designs))
    if found.variance.height:
        made.append(_variance(found.variance))
    if analysis.judge_panel.height:
        made.append(_panel(analysis.judge_panel))
    if analysis.agreement_differences.height:
        made.append(_differences(analysis.agreement_differences))
    return {table.key: table for table in made}


def _designs(data: pl.DataFrame) -> Table:
    rows = []
    for (quality,), part in data.group_by(["quality"], maintain_order=True):
        if not part["relative"].count():
            rows.append((quality, "", "", "", "", "", "", part["reason"][0] or ""))
            continue
        for row in _worth_their_price(part.drop_nulls("relative")).iter_rows(named=True):
            rows.append(
                (
                    quality,
                    in_words(row) + (" (as judged)" if row["now"] else ""),
                    f"{row['ratings']:,}",
                    price_of(row["price"]),
                    reliability(row["relative"]),
                    interval(row["relative_low"], row["relative_high"], 2),
                    number(row["absolute"], 2),
                    row["reason"] or "",
                )
            )
    heads = (
        "Quality", "Design", "Ratings an item", "Price", "Eρ²", "95 % interval", "Φ", "Note",
    )  # fmt: skip
    note = (
        "Designs that no cheaper one equals, and the one that was judged; the file has all. Eρ²: "
        "would differences between items repeat with other judges, prompts and repeats? Φ: would "
        "the means? Price: for all items, from the costs recorded, the mean over judges and "
        "prompts; an answer often holds several qualities."
    )
    return Table("judge_designs", "Designs and their price", heads, rows, note, data)


def _worth_their_price(designs: pl.DataFrame) -> pl.DataFrame:
    """Designs that beat all cheaper ones, those that sentences name, and that of now."""
    dear = "price" if designs["price"].count() else "ratings"
    ranked = designs.sort(dear, "relative", descending=[False, True], maintain_order=True)
    before = pl.col("relative").cum_max().shift(1).fill_null(-1.0)
    size = pl.concat_str("judges", "prompts", "repeats", separator="×")
    told = [
        "×".join(str(first[f"{name}s"]) for name in FACETS)
        for target in TARGETS
        if (first := cheapest(designs, target)) is not None
    ]
    return ranked.filter((pl.col("relative") > before + 0.01) | pl.col("now") | size.is_in(told))


def _variance(data: pl.DataFrame) -> Table:
    rows = [
        (
            "all judges" if row["judge"] == ALL_JUDGES else row["judge"],
            row["quality"],
            _effect(row["effect"]),
            number(row["variance"], 3),
            interval(row["low"], row["high"], 3),
            number(row["share"], percent=True),
            row["reason"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = ("Judge", "Quality", "Effect", "Variance", "95 % interval", "Share", "Why not")
    note = (
        "Variances within conditions, by the analysis of variance; negative ones count as none. "
        "“Item × prompt”: items that come out higher with one prompt and lower with another."
    )
    return Table("judge_variance", "Where the variance of judges lies", heads, rows, note, data)


def _panel(data: pl.DataFrame) -> Table:
    rows = [
        (
            row["judge"],
            row["than"],
            row["quality"],
            row["statistic"],
            number(row["value"], 2),
            number(row["other"], 2),
            number(row["change"], 2),
            interval(row["low"], row["high"], 2),
            "" if row["p_adjusted"] is None else p_value(row["p_adjusted"]),
            row["reason"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = (
        "Judge", "Beside", "Quality", "Statistic", "With the judge", "Beside it", "Change",
        "95 % interval", "Corrected p", "Why not",
    )  # fmt: skip
    note = (
        "Agreement of people and the judge as one more rater, beside people alone or people with "
        "another judge, on the items that all rated. Intervals leave out items and people in turn."
    )
    return Table("judge_panel", "Agreement when a judge joins", heads, rows, note, data)


def _differences(data: pl.DataFrame) -> Table:
    rows = [
        (
            row["comparison"],
            row["quality"],
            row["statistic"],
            number(row["first"], 2),
            number(row["second"], 2),
            number(row["value"], 2),
            interval(row["low"], row["high"], 2),
            "" if row["p_adjusted"] is None else p_value(row["p_adjusted"]),
            row["reason"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = (
        "Comparison", "Quality", "Statistic", "First", "Second", "Difference", "95 % interval",
        "Corrected p", "Why not",
    )  # fmt: skip
    note = "Kappas and alphas of two conditions; items and raters of both are taken for the same."
    return Table("agreement_differences", "Differences of kappa and alpha", heads, rows, note, data)


def shares_chart(variance: pl.DataFrame) -> Chart | None:
    """A stacked bar a judge, and one for all judges, of where the variance lies."""
    rows = _stacked(variance.drop_nulls("share"))
    if not rows:
        return None
    names = list(dict.fromkeys(row["judge"] for row in rows))
    parts = [part for part in _PARTS if any(row["part"] == part for row in rows)]
    base = alt.Chart(named("rows")).encode(
        y=alt.Y("judge:N", sort=names, axis=alt.Axis(title=None, labelFontSize=13)),
        x=alt.X(
            "share:Q",
            stack="zero",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(title="Share of the variance", format="%", tickCount=5),
        ),
        color=alt.Color("part:N", sort=parts, legend=alt.Legend(columns=2)).scale(domain=parts),
        order=alt.Order("place:Q"),
        tooltip=[
            alt.Tooltip("judge:N", title="judge"),
            alt.Tooltip("part:N", title="part"),
            alt.Tooltip("share:Q", title="share", format=".0%"),
        ],
    )
    bars = base.mark_bar(stroke="var(--surface)", strokeWidth=1)
    cells = {(row["judge"], row["part"]): row["share"] for row in rows}
    return Chart(
        specification(bars.properties(height=44 * len(names))),
        {"rows": rows},
        "Shares of the variance of each judge’s ratings: items, settings, and the rest.",
        ("Judge", *parts),
        [
            (name, *(number(cells.get((name, part), 0.0), percent=True) for part in parts))
            for name in names
        ],
        "Items should weigh much. Level: judge, prompt or another setting rates everything higher; "
        "items × prompt: some items higher and others lower. Variances below zero count as none.",
    )


def _stacked(variance: pl.DataFrame) -> list[dict[str, Any]]:
    """The shares of each judge in the parts of the bar."""
    sums: dict[tuple[str, str], float] = {}
    for row in variance.iter_rows(named=True):
        judge = "all judges" if row["judge"] == ALL_JUDGES else row["judge"]
        key = (judge, _part(row["effect"]))
        sums[key] = sums.get(key, 0.0) + row["share"]
    return [
        {"judge": judge, "part": part, "share": round(share, 5), "place": _PARTS.index(part)}
        for (judge, part), share in sums.items()
    ]


def _part(effect: str) -> str:
    if effect == "item":
        return _ITEMS
    if effect.endswith("(and the rest)"):
        return _REST
    if not effect.startswith("item"):
        return _LEVELS
    return {"item × judge": _BY_JUDGE, "item × prompt": _BY_PROMPT}.get(effect, _BY_OTHER)


def design_section(analysis: StudyAnalysis, tables: Mapping[str, Table]) -> Iterator[Section]:
    """The section of designs; none where no judge was asked."""
    variance = analysis.judge_designs.variance
    if not variance.height:
        return
    lead = Text(
        "How far judges’ ratings would repeat with other judges, prompts and repeats, and what is "
        "enough at which price. Steady is not right: whether they go with people stands above."
    )
    found = list(steadiness_findings(analysis))
    charts = {}
    for quality in variance["quality"].unique(maintain_order=True):
        chart = shares_chart(variance.filter(pl.col("quality") == quality))
        if chart is not None:
            charts[quality] = chart
    blocks: list[Block] = [lead, *([Findings(found)] if found else [])]
    if charts:
        title = "Where the variance of judges lies"
        blocks.append(Plot("judge_variance", charts, "Quality", title=title))
    keys = [key for key in ("judge_designs", "judge_panel", "judge_variance") if key in tables]
    blocks += [folded(tables[key], open=key == "judge_designs") for key in keys]
    yield Section("judge-designs", "Judges: how steady they are", blocks, "Steadiness of judges")
