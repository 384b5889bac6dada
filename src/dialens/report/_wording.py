"""How metrics, numbers and counts are put into words, the same on every page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dialens.metrics import MetricCard
from dialens.metrics import metrics as known_metrics
from dialens.metrics.families import LABELS as EMOTION_LABELS

HEADLINE = (
    "engagement",
    "empathic_concern",
    "agreeableness",
    "toxicity",
    "emotional_entropy",
    "emotion_matching",
    "language_style_matching",
    "specificity",
    "question",
    "length",
    "distinct_2",
)
"""What the first table, the distributions and the list of dialogues show, where it was computed."""

_FIELD = (
    "usl_h",
    "bert_score_f1",
    "bleurt",
    "bart_score_f",
    "dialog_rpt_updown",
    "prism_ref",
    "mauve",
    "usl_h_dialens",
    "dialog_rpt_dialens_updown",
    "rouge_l",
    "bleu_4",
    "meteor",
    "chrf",
)
"""Of the field's automatic metrics, those that speak for their families."""

_MOST_HEADLINES = 12
_BASELINES = ("random",)
_LABELS = {
    "language_style_matching": "Style matching",
    "question": "Questions",
    "specificity": "Content words",
    "length": "Words a turn",
    "distinct_1": "Distinct words",
    "distinct_2": "Distinct word pairs",
    "random": "Random numbers",
    "engagement_reactions": "Reactions",
    "emotional_entropy_classifier": "Emotional entropy (27 emotions)",
    "emotion_matching_classifier": "Emotion matching (27 emotions)",
    **{f"bleu_{n}": f"BLEU-{n}" for n in (1, 2, 3, 4)},
    "chrf": "chrF",
    **{f"rouge_{n}": f"ROUGE-{n.upper()}" for n in ("1", "2", "l")},
    "meteor": "METEOR",
    "bert_score_precision": "BERTScore precision",
    "bert_score_recall": "BERTScore recall",
    "bert_score_f1": "BERTScore F1",
    "bart_score_s_h": "BARTScore s→h",
    "bart_score_h_r": "BARTScore h→r",
    "bart_score_r_h": "BARTScore r→h",
    "bart_score_f": "BARTScore F",
    "bleurt": "BLEURT",
    "mauve": "MAUVE",
    "prism_ref": "Prism-ref",
    "prism_unref": "Prism-unref",
    "prism_context": "Prism-context",
    "pred_en": "PRED_EN",
    "pred_en_finetuned": "PRED_EN, fine-tuned",
}
_WRITTEN = {"usl_h": "USL-H", "dialog_rpt": "DialogRPT", "fed": "FED"}
"""How the beginnings of names are written; what follows is said in words."""
_HIGHER = {
    "emotional_entropy": "mixes emotions more evenly",
    "emotion_matching": "follows the emotions of the other side more closely",
    "language_style_matching": "matches the style of the other side more closely",
    "specificity": "uses more content words a turn",
    "question": "asks in more of its turns",
    "length": "writes longer turns",
    "distinct_1": "repeats its words less",
    "distinct_2": "repeats its word pairs less",
    "engagement": "engages more by the model",
    "engagement_reactions": "would draw more reactions by the model",
    "relevance": "stays closer to what was said by the model",
    "toxicity": "sounds more toxic to the model",
    "emotional_entropy_classifier": "mixes emotions more evenly by the classifier",
    "emotion_matching_classifier": "follows the other side's emotions more by the classifier",
    "agreeableness": "writes like more agreeable people",
    "openness": "writes like more open people",
    "conscientiousness": "writes like more conscientious people",
    "extraversion": "writes like more extraverted people",
    "neuroticism": "writes like more neurotic people",
    "empathic_concern": "writes like people with more empathic concern",
    "state_empathy": "writes like people who feel more empathy at the moment",
}
_FAMILIES = {
    "engagement": "Engagement and its parts",
    "personality": "Personality",
    "empathy": "Empathy",
    "toxicity": "Toxicity",
    "emotion": "Emotions",
    "emotion_classifier": "Emotions by a classifier",
    "style": "Style matching by kind of function word",
    "variation": "How much states vary within a dialogue",
    "surface": "Words and phrases",
    "baseline": "Baseline",
    "bleu": "BLEU",
    "chrf": "chrF",
    "rouge": "ROUGE",
    "meteor": "METEOR",
    "embedding": "Embeddings of words",
    "bert_score": "BERTScore",
    "mauve": "MAUVE",
    "bart_score": "BARTScore",
    "bleurt": "BLEURT",
    "prism": "Prism",
    "dialog_rpt": "DialogRPT",
    "dialog_rpt_dialens": "DialogRPT, trained for dialens",
    "usl_h": "USL-H",
    "usl_h_dialens": "USL-H, trained for dialens",
    "pred_en": "PRED_EN",
    "perplexity": "Perplexity",
    "fed": "FED",
}


def label(name: str) -> str:
    """A metric's name for a heading.

    Examples:
        >>> label("language_style_matching"), label("style_matching_articles"), label("joy_share")
        ('Style matching', 'Articles', 'Joy')
        >>> label("rouge_l"), label("usl_h_vup"), label("dialog_rpt_human_vs_rand")
        ('ROUGE-L', 'USL-H vup', 'DialogRPT human vs rand')
    """
    if name in _LABELS:
        return _LABELS[name]
    for start, written in _WRITTEN.items():
        if name == start or name.startswith(f"{start}_"):
            return f"{written} {name.removeprefix(start)[1:].replace('_', ' ')}".strip()
    short = name.removeprefix("style_matching_").removesuffix("_share")
    if _is_probability(name):
        short = name.removeprefix("emotion_")
    if name.endswith("_variation"):
        short = name.removesuffix("_variation").removesuffix("_share")
    return short.replace("_", " ").capitalize()


def long_label(name: str) -> str:
    """The same where no heading tells what it belongs to.

    Examples:
        >>> long_label("style_matching_articles"), long_label("joy_share_variation")
        ('Style matching: articles', 'Variation of joy')
    """
    if name.startswith("style_matching_"):
        return f"Style matching: {label(name).lower()}"
    if name.endswith("_variation"):
        return f"Variation of {label(name).lower()}"
    if _is_probability(name):
        return f"Probability of {label(name).lower()}"
    return f"Share of {label(name).lower()}" if name.endswith("_share") else label(name)


def _is_probability(name: str) -> bool:
    """Whether a metric is the classifier's probability of an emotion."""
    return name.startswith("emotion_") and name not in ("emotion_matching", *_LABELS)


def higher(name: str) -> str:
    """What an agent with the higher value does, as a predicate.

    Examples:
        >>> higher("question"), higher("joy_share"), higher("bleu_1")
        ('asks in more of its turns', 'has a higher share of joy', 'has a higher BLEU-1')
    """
    known = _HIGHER.get(name)
    if known:
        return known
    return f"has a higher {in_sentence(long_label(name))}"


def in_sentence(text: str) -> str:
    """A label within a sentence: without its capital, unless it is a name.

    Examples:
        >>> in_sentence("Distinct words"), in_sentence("USL-H vup"), in_sentence("chrF")
        ('distinct words', 'USL-H vup', 'chrF')
    """
    return text if text[1:] != text[1:].lower() else f"{text[:1].lower()}{text[1:]}"


def family_label(family: str) -> str:
    """The heading of a family of metrics."""
    return _FAMILIES.get(family, family.replace("_", " ").capitalize())


def family_order(family: str) -> tuple[int, str]:
    """Where a family stands: ours in their order, then the others by name."""
    ours = list(_FAMILIES)
    return (ours.index(family) if family in ours else len(ours), family)


def cards(names: Iterable[str]) -> dict[str, MetricCard]:
    """The cards of metrics by name, as far as they are installed here."""
    known = known_metrics()
    return {name: known[name] for name in names if name in known}


def headline_metrics(names: Sequence[str]) -> list[str]:
    """Which metrics come first: ours, then the field's, then those that other packages bring.

    Examples:
        >>> headline_metrics(["joy_share", "length", "question", "random", "toxicity"])
        ['toxicity', 'question', 'length']
        >>> headline_metrics(["joy_share"])
        ['joy_share']
    """
    field = [name for name in _FIELD if name in names]
    chosen = [name for name in HEADLINE if name in names] + field
    ours = set(_FAMILIES)
    theirs = [name for name, card in cards(names).items() if card.family not in ours]
    return (chosen + theirs)[:_MOST_HEADLINES] or list(names)[:_MOST_HEADLINES]


def is_baseline(name: str) -> bool:
    """Whether a metric is there to be beaten, and says nothing of an agent."""
    return name in _BASELINES


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number and what is counted.

    Examples:
        >>> counted(1, "agent"), counted(1200, "dialogue"), counted(2, "is", "are")
        ('1 agent', '1,200 dialogues', '2 are')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(parts: Sequence[str]) -> str:
    """Words joined as in a sentence.

    Examples:
        >>> listed(["joy", "fear", "trust"]), listed(["joy"])
        ('joy, fear and trust', 'joy')
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class Scale:
    """How the values of one metric are written and where they lie on its axis.

    Attributes:
        metric: Its name.
        percent: Whether values are shares, written in percent.
        decimals: As many as the intervals allow to be told apart.
        low: Left end of the axis.
        high: Right end.
    """

    metric: str
    percent: bool
    decimals: int
    low: float
    high: float

    @classmethod
    def of(
        cls, metric: str, bounds: Iterable[tuple[float | None, float | None, float | None]]
    ) -> "Scale":
        """The scale for rows of value, low and high.

        Examples:
            >>> scale = Scale.of("question", [(0.4, 0.35, 0.45)])
            >>> scale.text(0.4), scale.interval(0.35, 0.45)
            ('40.0 %', '35.0 to 45.0')
        """
        rows = list(bounds)
        shares = ("question", "toxicity", *(f"emotion_{label}" for label in EMOTION_LABELS))
        percent = metric in shares or metric.endswith("_share")
        seen = [number for row in rows for number in row if number is not None]
        low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
        margin = (high - low) * 0.06 or abs(high) * 0.05 or 0.5
        widths = sorted(r[2] - r[1] for r in rows if r[1] is not None and r[2] is not None)
        width = (widths[len(widths) // 2] if widths else 0.0) * (100 if percent else 1)
        needed = 1 - math.floor(math.log10(width / 2)) if width > 0 else 2
        least, most = (1, 2) if percent else (1 if high > 5 else 2, 3)
        return cls(metric, percent, min(max(needed - 1, least), most), low - margin, high + margin)

    def number(self, value: float) -> str:
        """The value without its unit; a true minus sign, no negative zero."""
        text = f"{value * 100 if self.percent else value:,.{self.decimals}f}"
        if text.startswith("-"):
            text = text[1:] if not text.strip("-0.,") else f"−{text[1:]}"
        return text

    def text(self, value: float | None) -> str:
        """The value with its unit, or a dash."""
        if value is None:
            return "–"
        return f"{self.number(value)} %" if self.percent else self.number(value)

    def interval(self, low: float | None, high: float | None) -> str:
        """Both ends in words."""
        if low is None or high is None:
            return ""
        return f"{self.number(low)} to {self.number(high)}"

    def place(self, value: float) -> float:
        """Where a value lies on the axis, in percent of its length."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 1)
