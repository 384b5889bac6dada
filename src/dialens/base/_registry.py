"""Plug-ins by name: those of dialens, and those of installed packages (entry points)."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from dialens.base._errors import DialensError, DialensWarning, did_you_mean

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """All things of one kind by name: metrics, readers, agents, instruments, recruiters.

    Ours come first, then what other packages bring as entry points of `group`. An entry point gives
    one thing or several. What cannot be taken (it cannot be loaded, it is of another kind, its name
    is ours) is left out with a `DialensWarning`, so that one broken package stops nobody else's;
    asking for it by name says why. A name that is not known gets a hint.

    Args:
        noun: What one of them is called in messages, `metric` for instance.
        group: Group of entry points, `dialens.metrics` for instance.
        kind: What each must be an instance of.
        ours: Makes our own, when somebody first looks.
        listed_by: The command that lists them, for messages.
        read: Makes things of an entry point; loads it if not given.
        unpack: Makes things of what an entry point gives, where one may stand for several.

    Examples:
        >>> tastes = Registry("taste", "example.tastes", str, lambda: ["sweet", "sour"], name=str)
        >>> list(tastes)
        ['sweet', 'sour']
        >>> tastes["swet"]
        Traceback (most recent call last):
        dialens.DialensError: There is no taste 'swet'. Did you mean sweet? Known: sweet, sour.
    """

    def __init__(
        self,
        noun: str,
        group: str,
        kind: type[Any] | tuple[type[Any], ...],
        ours: Callable[[], Iterable[T]],
        *,
        name: Callable[[T], str] = lambda thing: str(thing.name),  # type: ignore[attr-defined]
        listed_by: str = "",
        read: Callable[[EntryPoint], Iterable[T]] | None = None,
        unpack: Callable[[Any], Iterable[T]] = lambda thing: (thing,),
    ) -> None:
        self.noun, self.group = noun, group
        self._kind, self._ours, self._name = kind, ours, name
        self._listed_by = listed_by
        self._read, self._unpack = read or self._load, unpack
        self._known: dict[str, T] | None = None
        self._broken: dict[str, str] = {}

    def __getitem__(self, name: str) -> T:
        """The thing of that name; a `DialensError` with a hint if there is none."""
        entries = self._all()
        if name not in entries and name in self._broken:
            raise DialensError(self._broken[name])
        if name not in entries:
            where = f"`{self._listed_by}` lists them." if self._listed_by else self._names()
            hint = did_you_mean(name, entries)
            raise DialensError(f"There is no {self.noun} {name!r}. {hint}{where}")
        return entries[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The thing of that name, or the default."""
        return self._all().get(name, default)

    def __contains__(self, name: object) -> bool:
        """Whether there is one of that name."""
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        """Names, ours first."""
        return iter(self._all())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all())

    def forget(self) -> None:
        """Look for entry points again, when next asked; for tests of plug-ins."""
        self._known, self._broken = None, {}

    def _names(self) -> str:
        return f"Known: {', '.join(self._all())}."

    def _all(self) -> dict[str, T]:
        if self._known is None:
            entries: dict[str, T] = {}
            for thing in self._ours():
                self._add(entries, thing, "dialens")
            for entry in entry_points(group=self.group):
                try:
                    for thing in self._read(entry):
                        self._add(entries, thing, entry.value)
                except DialensError as error:
                    self._broken[entry.name] = str(error)
                    warnings.warn(str(error), DialensWarning, stacklevel=2)
            self._known = entries
        return self._known

    def _add(self, entries: dict[str, T], thing: T, origin: str) -> None:
        name = self._name(thing)
        if name in entries:
            raise DialensError(
                f"The {self.noun} {name!r} is there twice; the second comes from {origin}. "
                f"Rename the one that an installed package brings under {self.group!r}."
            )
        entries[name] = thing

    def _kinds(self) -> str:
        kinds = self._kind if isinstance(self._kind, tuple) else (self._kind,)
        return " or ".join(kind.__name__ for kind in kinds)

    def _load(self, entry: EntryPoint) -> Iterable[T]:
        try:
            loaded = entry.load()
        except Exception as error:
            raise DialensError(
                f"The {self.noun} {entry.name!r} ({entry.value}) of an installed package cannot be "
                f"loaded: {error}. Update or remove that package."
            ) from error
        things = [loaded] if isinstance(loaded, self._kind) else loaded
        if not isinstance(things, Iterable) or isinstance(things, str):
            things = [things]
        for thing in things:
            if not isinstance(thing, self._kind):
                raise DialensError(
                    f"The entry point {entry.name!r} ({entry.value}) of {self.group!r} gives "
                    f"{type(thing).__name__}; it must give {self._kinds()}, or several."
                )
            yield from self._unpack(thing)
