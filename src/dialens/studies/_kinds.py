"""Settings of which a key `kind` says whose they are, as a registry knows them."""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import Annotated, Any, get_args

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic import Field as Setting
from pydantic_core import CoreSchema

from dialens.base import DialensError


def named_by_kind(settings: type[BaseModel], name: str) -> None:
    """Refuse settings whose `kind` is not the name under which a study file asks for them.

    Examples:
        >>> from typing import Literal
        >>> class Wrong(BaseModel):
        ...     kind: Literal["stars"] = "stars"
        >>> named_by_kind(Wrong, "thumbs")
        Traceback (most recent call last):
        ...
        dialens.DialensError: The settings Wrong of 'thumbs' must say `kind: Literal["thumbs"] ...
    """
    kind = settings.model_fields.get("kind")
    if kind is None or kind.default != name or get_args(kind.annotation) != (name,):
        raise DialensError(
            f"The settings {settings.__name__} of {name!r} must say "
            f'`kind: Literal["{name}"] = "{name}"`.'
        )


class OneOf:
    """Tells pydantic that a value is of one of several models: the one whose `kind` it names.

    The models are asked for when the first file is read, not when the design is imported: a package
    that brings one may import all of `dialens.studies`.

    Args:
        models: Gives them.

    Examples:
        >>> from dialens.studies.instruments import LikertSettings, Settings, SliderSettings
        >>> from pydantic import TypeAdapter
        >>> either = TypeAdapter(
        ...     Annotated[Settings, OneOf(lambda: [LikertSettings, SliderSettings])]
        ... )
        >>> either.validate_python({"kind": "likert", "points": 5}).points
        5
    """

    def __init__(self, models: Callable[[], Iterable[type[BaseModel]]]) -> None:
        self._models = models

    @property
    def union(self) -> Any:
        """The models, as one type."""
        return reduce(or_, self._models())

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Asked by pydantic."""
        return handler.generate_schema(Annotated[self.union, Setting(discriminator="kind")])
