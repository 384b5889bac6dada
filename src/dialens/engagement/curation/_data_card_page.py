"""The data card as a page that a person reads."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any


def page(card: Mapping[str, Any]) -> str:
    """The Markdown of a card."""
    sections = (
        _head(card),
        _counts(card),
        _table_1(card),
        _constants(card),
        _missing(card),
        _places(card),
        _origin(card),
    )
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _head(card: Mapping[str, Any]) -> list[str]:
    counts = card["counts"]
    return [
        "# Reddit Engagement Dataset: data card",
        "",
        f"{counts['posts']:,} posts from {counts['comments']:,} comments and "
        f"{counts['submissions']:,} submissions ({_period(card['dates']['posts'])}), labelled by "
        "how people reacted to them (EnDex, Xu et al. 2022). "
        f"{counts['engaging']:,} are engaging, {counts['not_engaging']:,} are not, "
        f"{counts['between']:,} lie between and have no label. After balancing, "
        f"{counts['train']:,} posts are for training and {counts['validation']:,} for validation; "
        "no thread is in both.",
        "",
        "Labels are distant supervision: they say how people reacted, not how anyone rated the "
        "text. User names were read to find deleted accounts and bots, and are not in the data.",
    ]


def _counts(card: Mapping[str, Any]) -> list[str]:
    counts = card["counts"]
    rows: list[Sequence[str]] = [
        ("comments read", f"{counts['comments_read']:,}", ""),
        ("the same comment again", _less(counts["comment_duplicates"]), ""),
    ]
    for reason, number in card["reasons"].items():
        rows.append((reason, _less(number), _share(number, counts["comments"])))
    rows.append(
        ("**accepted posts**", f"{counts['posts']:,}", _share(counts["posts"], counts["comments"]))
    )
    split = [
        (side, f"{sizes['engaging']:,}", f"{sizes['not_engaging']:,}")
        for side, sizes in card["sides"].items()
    ]
    return [
        "## From comments to posts",
        "",
        "Every comment that is no post has one reason, the first that applies; "
        "`rejected/` lists them.",
        "",
        *_table(("", "comments", "share"), rows),
        "",
        *_table(("balanced, split by thread", "engaging", "not engaging"), split),
    ]


def _table_1(card: Mapping[str, Any]) -> list[str]:
    rows = []
    for row in card["table_1"]:
        paper = row["paper"]
        rows.append(
            (
                row["name"],
                _spread(row["engaging"]),
                _spread(row["not_engaging"]),
                _spread(paper["engaging"]),
                _spread(paper["not_engaging"]),
            )
        )
    heads = ("", "engaging", "not engaging", "paper: engaging", "paper: not engaging")
    counts = card["counts"]
    return [
        "## The classes (Table 1 of the paper)",
        "",
        f"Mean ± standard deviation of the normalised dimensions over all {counts['engaging']:,} "
        f"engaging and {counts['not_engaging']:,} not engaging posts, before balancing.",
        "",
        *_table(heads, rows),
        "",
        f"The score has mean {card['score']['mean']:.4f} and standard deviation "
        f"{card['score']['deviation']:.4f} over all accepted posts; labels are given beyond "
        f"±{card['options']['kappa']:g} deviations.",
    ]


def _constants(card: Mapping[str, Any]) -> list[str]:
    options = card["options"]
    source = "medians of the adjusted dimensions" if options["alpha"] == "data" else "the paper's"
    weights = ", ".join(f"{name} {value:g}" for name, value in options["weights"].items())
    rows = [
        (
            name.upper(),
            _number(card["medians"].get(name)),
            _number(card["medians_of_adjusted"].get(name)),
            _number(card["alphas"].get(name)),
        )
        for name in ("re", "be", "ae", "pv")
    ]
    lines = [
        "## Medians and α",
        "",
        f"α: {source}. Weights: {weights}. At least {options['min_replies']} "
        f"{'reply' if options['min_replies'] == 1 else 'replies'}. Seed {options['seed']}.",
        "",
        *_table(("", "median", "median, adjusted", "α"), rows),
    ]
    replaced = card["zero_medians_replaced"]
    if replaced:
        named = ", ".join(f"{what} by {value:g}" for what, value in replaced.items())
        lines += ["", f"A zero was replaced by the smallest positive value: {named}."]
    return lines


def _missing(card: Mapping[str, Any]) -> list[str]:
    missing, counts = card["missing"], card["counts"]
    lines = ["## What is not known", ""]
    votes = missing["posts_without_votes"]
    if votes:
        lines.append(
            f"- Votes are absent or hidden for {votes:,} of {counts['posts']:,} posts "
            f"({_share(votes, counts['posts'])}): their behavioural dimension is missing, and the "
            "weights of the others are scaled up. Where the parent has no votes either, its "
            "popularity is its replies alone."
        )
    else:
        lines.append("- Votes are known for every post.")
    unknown, replies = missing["replies_edit_unknown"] or 0, missing["replies_to_posts"] or 0
    if unknown:
        lines.append(
            f"- Whether a reply was edited is not known for {unknown:,} of {replies:,} replies to "
            f"posts ({_share(unknown, replies)}): they count as not edited, so the attentional "
            "dimension rests on length alone there."
        )
    else:
        lines.append("- Whether a reply was edited is known for every reply.")
    lost = missing["comments_without_parent"]
    lines.append(
        f"- {lost:,} comments ({_share(lost, counts['comments'])}) answer something that is not in "
        "the data. Replies that are not in the data cannot be counted and leave no trace at all "
        "where a file was cut off or a thread goes on in another month: replies and popularity are "
        "lower bounds."
    )
    lines.append(
        f"- {missing['comments_deleted']:,} comments are deleted or removed; as replies "
        "they are counted, but not read."
    )
    lines += _left_out(card["sources"])
    models = card["models"]
    emotion = models["emotion"] or "none: the emotional dimension is missing everywhere"
    toxicity = models["toxicity"] or "none: toxic posts were not left out"
    above = f", above {card['options']['toxic_above']:g}" if models["toxicity"] else ""
    lines += [f"- Emotion by {emotion}.", f"- Toxicity by {toxicity}{above}."]
    english = "left out what is not English" if card["options"]["english"] else "keeps all"
    lines.append(f"- Languages: {english}.")
    return lines


def _left_out(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the dumps held and ingest could not read."""
    lines = []
    for source in sources:
        if source["rejects"]:
            were = "record of {} was" if source["rejects"] == 1 else "records of {} were"
            lines.append(
                f"- {source['rejects']:,} {were.format(source['source'])} broken and left out; "
                "replies among them are not counted."
            )
        if source["damaged"]:
            lines.append(
                f"- {source['source']} is damaged and {_breaks_off(source['damaged'])}: nobody "
                "knows what came then."
            )
    return lines


def _breaks_off(damaged: Mapping[str, Any]) -> str:
    return f"breaks off after line {damaged['after_line']:,}"


def _places(card: Mapping[str, Any]) -> list[str]:
    known = card["subreddits"]
    rows = [
        (
            row["subreddit"] or "(not known)",
            f"{row['posts']:,}",
            f"{row['engaging']:,}",
            f"{row['not_engaging']:,}",
        )
        for row in known["largest"]
    ]
    more = known["number"] - len(rows)
    dates = card["dates"]
    undated = f" {dates['posts_undated']:,} posts have no date." if dates["posts_undated"] else ""
    return [
        "## Where and when",
        "",
        f"{known['number']:,} subreddits; posts from {_period(dates['posts'])}.{undated}"
        + (f" The {len(rows)} largest:" if more else ""),
        "",
        *_table(("subreddit", "posts", "engaging", "not engaging"), rows),
    ]


def _origin(card: Mapping[str, Any]) -> list[str]:
    sources = [
        (
            str(source["source"]),
            f"{source['size']:,}",
            "–" if source["rejects"] is None else f"{source['rejects']:,}",
            _breaks_off(source["damaged"]) if source["damaged"] else "",
            f"`{str(source['sha256'])[:16]}…`",
        )
        for source in card["sources"]
    ]
    files = [
        (name, f"{about['rows']:,}", f"`{about['sha256'][:16]}…`")
        for name, about in card["files"].items()
    ]
    return [
        "## Files",
        "",
        *(_table(("read", "bytes", "left out", "damage", "SHA-256"), sources) if sources else []),
        "",
        *_table(("written", "rows", "SHA-256"), files),
    ]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    return lines + [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows
    ]


def _less(number: int) -> str:
    return f"−{number:,}" if number else "0"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _spread(value: Mapping[str, Any] | None) -> str:
    return "–" if value is None else f"{value['mean']:.3f} ± {value['deviation']:.3f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


def _period(ends: Sequence[int | None]) -> str:
    days = [datetime.fromtimestamp(end, UTC).date().isoformat() for end in ends if end is not None]
    if len(days) < 2:
        return "dates not known"
    return days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"
