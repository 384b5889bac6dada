"""What the shell completes: names of metrics, formats, templates, models and the like.

What a completion needs is imported when it is asked for, so that commands which only name these
functions stay as light as they were.
"""

from collections.abc import Callable, Iterable

Completion = Callable[[str], list[str]]


def metric_names(incomplete: str) -> list[str]:
    """Metrics, families and groups that go on as typed; after a comma, the last of several.

    Examples:
        >>> metric_names("ques")
        ['question']
        >>> metric_names("question,lengt")
        ['question,length']
    """
    from dialens.metrics import metrics

    cards = metrics()
    groups = (group for card in cards.values() for group in card.selected_by)
    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _matching([*cards, *groups, "all"], begun)]


def one_metric_name(incomplete: str) -> list[str]:
    """Metrics and families that go on as typed."""
    return [name for name in metric_names(incomplete) if "," not in name and name != "all"]


def format_names(incomplete: str) -> list[str]:
    """Formats that can be read.

    Examples:
        >>> format_names("convo")
        ['convokit']
    """
    from dialens.corpus import formats

    return _matching((entry.name for entry in formats() if entry.reads), incomplete)


def written_format_names(incomplete: str) -> list[str]:
    """Formats that can be written."""
    from dialens.corpus import formats

    return _matching((entry.name for entry in formats() if entry.writes), incomplete)


def any_format_name(incomplete: str) -> list[str]:
    """Formats that can be read or written."""
    from dialens.corpus import formats

    return _matching((entry.name for entry in formats()), incomplete)


def template_names(incomplete: str) -> list[str]:
    """Templates of studies; none where the extra is not installed."""
    try:
        from dialens.studies.templates import TEMPLATES
    except ModuleNotFoundError:
        return []
    return _matching(TEMPLATES, incomplete)


def model_sizes(incomplete: str) -> list[str]:
    """Sizes of models.

    Examples:
        >>> model_sizes("s")
        ['small']
    """
    from dialens.metrics import SIZES

    return _matching(SIZES, incomplete)


def model_tasks(incomplete: str) -> list[str]:
    """Tasks that a model of one's own can take, with the sign that its folder follows.

    Examples:
        >>> model_tasks("tox")
        ['toxicity=']
    """
    from dialens.metrics import TASKS

    return _matching((f"{task}=" for task in TASKS), incomplete)


def model_names(incomplete: str) -> list[str]:
    """Models by name."""
    from dialens.models import catalogue

    return _matching((entry.name for entry in catalogue().entries), incomplete)


def level_completion(incomplete: str) -> list[str]:
    """Levels; after a comma, the last of several.

    Examples:
        >>> level_completion("turn,d")
        ['turn,dialog']
    """
    from dialens.corpus import LEVELS

    return among(*LEVELS)(incomplete)


def among(*values: str) -> Completion:
    """A completion of fixed values, of which several may stand with commas between them.

    Examples:
        >>> among("turn", "dialog")("turn,d")
        ['turn,dialog']
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{value}" for value in _matching(values, begun)]

    return complete


def _matching(names: Iterable[str], begun: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(begun)]
