"""What has to be said where some of the conversations that were scored broke off."""

from dialens.base import counted, listed
from dialens.corpus import agent_labels
from dialens.metrics._scores import Scores


def partial_note(scores: Scores) -> str:
    """How many dialogues of which agents did not come to their end; empty if all did.

    Examples:
        >>> from dialens.corpus import Corpus, Dialogue, Turn
        >>> from dialens.metrics import score
        >>> cut = {"partial": True, "reason": "timeout"}
        >>> talks = [
        ...     Dialogue("s", "bot", "d1", [Turn("B", "agent", "Glad you ask!", meta=cut)]),
        ...     Dialogue("s", "bot", "d2", [Turn("B", "agent", "Why not?")]),
        ... ]
        >>> partial_note(score(Corpus.of(talks), metrics=["length"]))
        '1 of 2 dialogues broke off and counts as far as it went (bot: 1).'
    """
    counts = scores.agents()
    total = int(counts["partial"].sum())
    if not total:
        return ""
    labels = agent_labels(counts.select("system", "agent").rows())
    by_agent = [f"{who}: {n:,}" for who, n in zip(labels, counts["partial"], strict=True) if n]
    of = counted(int(counts["dialogs"].sum()), "dialogue")
    counts_as = "counts as far as it" if total == 1 else "count as far as they"
    return f"{total:,} of {of} broke off and {counts_as} went ({listed(by_agent)})."
