"""Every step has a statement of its name, and no statement is left over."""

from importlib.resources import files

from dialens.engagement.curation._steps import STEPS


def test_statements_are_named_by_their_steps() -> None:
    names = {path.name for path in (files("dialens.engagement.curation") / "sql").iterdir()}
    assert names == {f"{step.name}.sql" for step in STEPS}
