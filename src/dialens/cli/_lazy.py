"""Commands that are imported when they are called, so that `dialens --help` loads none of them."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dialens.base import hear_interrupts


def lazy_app(summary: str, commands: Mapping[str, tuple[str, str]], **settings: Any) -> typer.Typer:
    """A group of commands.

    Args:
        summary: What the group is for, in its help.
        commands: By name: where the command is (`module:object`, a function or a group), and its
            line in the group's help.
        settings: Further arguments of `typer.Typer`.

    Examples:
        >>> app = lazy_app("Sums.", {"sum": ("math:fsum", "Add numbers.")})
        >>> [one.name for one in app.registered_groups]
        []
    """

    class Group(TyperGroup):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            for name, (place, line) in commands.items():
                self.add_command(LazyCommand(name, place, line))

    app = typer.Typer(
        cls=Group, no_args_is_help=True, rich_markup_mode="rich", help=summary, **settings
    )
    app.callback(help=summary)(_nothing)
    return app


def _nothing() -> None:
    """A group by itself does nothing."""


class LazyCommand(TyperCommand):
    """Stands for a command in its group; the command itself takes over when it is called."""

    def __init__(self, name: str, place: str, line: str) -> None:
        super().__init__(name, help=line, rich_markup_mode="rich")
        self._place = place

    def loaded(self) -> Any:
        """The command itself, imported."""
        module, _, attribute = self._place.partition(":")
        target: typer.Typer | Callable[..., Any] = getattr(import_module(module), attribute)
        if not isinstance(target, typer.Typer):
            function, target = target, typer.Typer(add_completion=False, rich_markup_mode="rich")
            target.command(self.name)(function)
        return typer.main.get_command(target)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Import the command, and let it read its arguments; from then on Ctrl-C is heard."""
        context = self.loaded().make_context(info_name, args, parent, **extra)
        if not context.resilient_parsing:  # which only completes words
            hear_interrupts()
        return context
