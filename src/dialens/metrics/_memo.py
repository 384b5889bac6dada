"""Results that are computed once, kept by function and arguments, so that owners never clash."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


class Memo:
    """Remembers what functions returned for their arguments, for as long as it lives.

    Examples:
        >>> memo = Memo()
        >>> memo.get(sorted, "ba"), memo.get(sorted, "ba") is memo.get(sorted, "ba")
        (['a', 'b'], True)
    """

    def __init__(self) -> None:
        self._results: dict[object, object] = {}

    def get(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """The function's result, computed at the first call; arguments must be hashable."""
        key = (function, arguments, *options.items())
        if key not in self._results:
            self._results[key] = function(*arguments, **options)
        return cast(T, self._results[key])
