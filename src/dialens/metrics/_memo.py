"""Results that are computed once, kept by function and arguments, so that owners never clash."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
Owner = TypeVar("Owner")


class Memo:
    """Remembers what functions returned for their arguments, for as long as it lives.

    It is empty where it is sent to: what it remembers can be computed there.

    Examples:
        >>> memo = Memo()
        >>> memo.get(sorted, "ba"), memo.get(sorted, "ba") is memo.get(sorted, "ba")
        (['a', 'b'], True)
    """

    def __init__(self) -> None:
        self._results: dict[object, object] = {}

    def __reduce__(self) -> tuple[type["Memo"], tuple[()]]:
        return Memo, ()

    def get(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """The function's result, computed at the first call; arguments must be hashable."""
        key = (function, arguments, *options.items())
        if key not in self._results:
            self._results[key] = function(*arguments, **options)
        return cast(T, self._results[key])

    def get_for(
        self,
        function: Callable[Concatenate[Owner, P], T],
        owner: Owner,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """The function's result for the owner of the memo, to whom no reference is kept.

        Owner and memo would refer to each other, and stay until Python looks for such cycles. A
        batch has a hundred megabytes.
        """
        key = (function, arguments, *options.items())
        if key not in self._results:
            self._results[key] = function(owner, *arguments, **options)
        return cast(T, self._results[key])
