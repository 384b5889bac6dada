"""The gate as an assertion, for tests of an agent."""

from collections.abc import Sequence
from pathlib import Path

from dialens.analysis.gating import GateResult, Rule, gate
from dialens.corpus import Corpus
from dialens.metrics import Resources, Scores, default_folder


def assert_gate(
    run: str | Path | Corpus | Scores,
    *,
    baseline: str | Path | Corpus | Scores | None = None,
    rules: Sequence[str | Rule],
    decide: str = "shown",
    resources: Resources | None = None,
    cache: bool = True,
) -> GateResult:
    """Hold a run against rules, and raise an `AssertionError` in sentences where it fails.

    It needs no plug-in: any test of pytest or unittest may call it.

    Args:
        run: A score folder, a file or folder of conversations, a corpus, or scores.
        baseline: The same, to hold changes against.
        rules: As for `dialens.gate`.
        decide: `shown` or `excluded`, as for `dialens.gate`.
        resources: Lexicons, models, prompt and seed, for conversations.
        cache: Whether scores of files are kept for the next time.

    Raises:
        AssertionError: The gate failed.
        DialensError: A rule cannot be read, or names what this run does not have.

    Examples:
        >>> from dialens.corpus import Dialogue, Turn
        >>> said = ["yes", "oh no", "no no no", "well it is so", "it is as it is", "so " * 9]
        >>> talks = [
        ...     Dialogue("s", "b", f"d{i}", [Turn("B", "agent", t)]) for i, t in enumerate(said)
        ... ]
        >>> assert_gate(Corpus.of(talks), rules=["length < 0.5"]).passed
        True
    """
    folder = default_folder() if cache else None
    result = gate(
        run, baseline=baseline, rules=rules, decide=decide, resources=resources, cache=folder
    )
    if not result.passed:
        raise AssertionError(str(result))
    return result
