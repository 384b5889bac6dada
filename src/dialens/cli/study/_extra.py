"""What the commands of `dialens study` share: the extra they need, said in a person's words."""

from contextlib import AbstractContextManager

from dialens.cli._options import extra


def studies_extra() -> AbstractContextManager[None]:
    """Turn a missing package of the extra `studies` into an error that says how to get it."""
    return extra("Studies", "studies")
