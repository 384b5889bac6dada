"""What a shell is told when somebody presses the tabulator, asked as bash asks it."""

import os
import subprocess
import sys

import pytest


def _completed(line: str) -> list[str]:
    words = line.split(" ")
    environment = {
        **os.environ,
        "_DIALENS_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    code = "import sys; sys.argv[0] = 'dialens'; from dialens.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert not run.stderr
    return run.stdout.split()


@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("dialens sc", {"score"}),
        ("dialens study sim", {"simulate"}),
        ("dialens score chats.jsonl --fig", {"--figures"}),
        ("dialens score chats.jsonl --figures ", {"svg", "pdf", "png"}),
        ("dialens score chats.jsonl -m language_", {"language_style_matching"}),
        ("dialens score chats.jsonl -m question,leng", {"question,length"}),
        ("dialens score chats.jsonl --models ", {"default", "small", "base", "none"}),
        ("dialens score chats.jsonl --format conv", {"convokit"}),
        ("dialens convert a b --to op", {"openai"}),
        ("dialens study new --template anchor", {"anchoring2020"}),
        ("dialens compare out --level s", {"system"}),
    ],
)
def test_names_are_completed_in_lazy_commands(line: str, among: set[str]) -> None:
    assert among <= set(_completed(line))


def test_only_what_goes_on_as_typed_is_offered() -> None:
    assert _completed("dialens metrics questi") == ["question"]


def test_options_of_score_are_completed_without_what_scores() -> None:
    heavy = "altair", "numpy", "onnxruntime", "polars", "scipy"
    code = f"import sys, dialens.cli._score; print(*({set(heavy)} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
