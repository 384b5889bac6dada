"""Files of studies and plans that are odd or made to do harm: one sentence, and no hang."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from dialens.base import DialensError, read_yaml

LETTERS = "abcdefghi"
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in pairwise(LETTERS)
)
"""Nine times nine times nine …: 9^9 values in half a kilobyte."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: !!python/object/apply:os.system [ls]\n", "study.yaml:1: the tag !!python/object"),
        ("a: 1\ntitle: !mine x\n", "study.yaml:2: the tag !mine has no meaning here"),
        ("a: !!binary aGk=\n", "study.yaml:1: the tag !!binary has no meaning"),
        ("a: !!set {x, y}\n", "study.yaml:1: the tag !!set has no meaning"),
        ("a: !!int x\n", "study.yaml: this is not YAML: invalid literal"),
        ("a: !!bool maybe\n", "study.yaml: this is not YAML: 'maybe'"),
        ("a: 2024-02-30\n", "study.yaml: this is not YAML: day is out of range"),
        (f"a: {'9' * 10_000}\n", "study.yaml: this is not YAML: Exceeds the limit"),
        ('a: 1\ntitle: "\\ud800"\n', "study.yaml:2: holds half of a surrogate pair"),
        ('"\\udc00": x\n', "study.yaml:1: holds half of a surrogate pair"),
        (f"a: {'[' * 1000}{']' * 1000}\n", "study.yaml:1: this is not YAML: it is nested more"),
        ("".join(" " * n + "a:\n" for n in range(200)), "nested more than 60 deep"),
        (ALIASES, "study.yaml: this stands for more than 300,000 values"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_no_study_file_holds(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(DialensError) as refused:
        read_yaml(path)
    assert said in str(refused.value)


def test_keys_that_are_merged_have_the_line_of_where_they_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("base: &base {x: 1}\nother:\n  <<: *base\n")
    data, lines = read_yaml(path)
    assert data == {"base": {"x": 1}, "other": {"x": 1}}
    assert lines["other", "x"] == 2
