"""`judges.yaml`: which models take a study, in which variations, and what that may cost.

The file lies beside the study file and outside the study's hash: another judge makes no other
study. What stands at its top holds for all judges; a judge may say otherwise for itself.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator
from pydantic import Field as Setting

from dialens.base import read_yaml, validated
from dialens.studies._types import JSON
from dialens.studies.design import ChosenAgent, Section

JUDGES = "judges.yaml"
"""The file beside the study file."""

JUDGES_SCHEMA = "judges.schema.json"

PLAIN = "plain"
"""The prompt that is there if the file gives none."""

DEFAULT_PROMPT = """\
You take part in a study in which people rate texts. You see what they see. Read the instructions,
then the screen, and answer every question on it with your own judgement.

--- Instructions ---

{instructions}

--- Screen ---

{screen}

--- Answer ---

{answer}
"""

FIRST_OCCASION = 1
"""The occasion that a study is judged on; further ones ask the same again."""

INSTRUCTIONS, SCREEN, ANSWER = "{instructions}", "{screen}", "{answer}"
"""What a prompt stands around."""

Memory = Literal["fresh", "session"]
Think = Literal["none", "short", "long"]
AnswerMode = Literal["json", "text", "probabilities"]


def _several(value: Any) -> Any:
    """One of something, or a list; `none` may come as YAML's null."""
    entries = value if isinstance(value, list) else [value]
    return ["none" if entry is None else entry for entry in entries]


def _numbers(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _cells(value: Any) -> Any:
    return None if value == "all" else [value] if isinstance(value, str) else value


_Temperature = Annotated[float, Setting(ge=0, le=5)]
_Temperatures = Annotated[
    list[_Temperature],
    BeforeValidator(_numbers, json_schema_input_type=_Temperature | list[_Temperature]),
    Setting(min_length=1, max_length=20),
]
_Memories = Annotated[
    list[Memory],
    BeforeValidator(_several, json_schema_input_type=Memory | list[Memory]),
    Setting(min_length=1),
]
_Thoughts = Annotated[
    list[Think],
    BeforeValidator(_several, json_schema_input_type=Think | list[Think]),
    Setting(min_length=1),
]
_Answers = Annotated[
    list[AnswerMode],
    BeforeValidator(_several, json_schema_input_type=AnswerMode | list[AnswerMode]),
    Setting(min_length=1),
]
_Cells = Annotated[
    list[str] | None, BeforeValidator(_cells, json_schema_input_type=str | list[str])
]


class Variations(Section):
    """In which ways a study is judged; each combination is a rater of its own."""

    temperatures: _Temperatures | None = None
    """Of sampling, one or several; the model's own setting if not given."""
    memory: _Memories | None = None
    """`fresh`: each screen in a conversation of its own (if not given); `session`: earlier screens
    and the judge's answers stay in the conversation, as in a person's mind."""
    think: _Thoughts | None = None
    """`none` (if not given), `short` or `long`: how much is thought, in words, before an answer."""
    answer: _Answers | None = None
    """`json` (if not given), `text` (a line a question), or `probabilities` of all answers."""
    repeats: int | None = Setting(default=None, ge=1, le=1_000)
    """How often the same is asked, each time anew; 1 if not given."""
    cells: _Cells = None
    """Cells of the study by name; `all` if not given. A judge may take all, a person cannot."""
    participations: int | None = Setting(default=None, ge=1, le=10_000)
    """Orders in which the screens of a cell are shown, as many as people with consecutive seeds
    would see; 1 if not given."""
    language: str | None = None
    """In which the study is read, one of its `languages`; its own if not given."""


class Judge(Variations, ChosenAgent):
    """A model that takes the study."""

    name: str = Setting(pattern=r"^[^\s/#,=][^/#,=]*$", max_length=60)
    """What it is called in the data."""
    prompts: list[str] | None = Setting(default=None, min_length=1)
    """Which of the file's prompts; all if not given."""


class JudgeBudget(Section):
    """The most that all judges together may use, over all runs; asking stops before."""

    cost: float | None = Setting(default=None, ge=0)
    """In the currency of the judges' prices (`price_in`, `price_out`)."""
    tokens: int | None = Setting(default=None, ge=0)
    """Read and written."""
    requests: int | None = Setting(default=None, ge=0)
    """Sent to models, repairs and failed ones included."""


class Judges(Variations):
    """The file."""

    judges: list[Judge] = Setting(min_length=1, max_length=100)
    """The models."""
    prompts: dict[
        Annotated[str, Setting(pattern=r"^[^\s/#,=][^/#,=]*$", max_length=60)],
        Annotated[str, Setting(min_length=1, max_length=20_000)],
    ] = Setting(default_factory=lambda: {PLAIN: DEFAULT_PROMPT}, min_length=1)
    """Prompts by name: texts with the places {instructions}, {screen} and {answer}."""
    budget: JudgeBudget = JudgeBudget()
    """The most that may be used."""
    send_to: list[str] = Setting(default_factory=list)
    """Hosts to which the texts of the study may be sent; nothing is sent to any other. Models on
    this machine need none."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        names = [judge.name for judge in self.judges]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two judges are called {name}")
        for name, text in self.prompts.items():
            for place in (INSTRUCTIONS, SCREEN):
                if text.count(place) != 1:
                    raise ValueError(f"the prompt {name} must hold {place} once")
        for judge in self.judges:
            for prompt in judge.prompts or ():
                if prompt not in self.prompts:
                    known = ", ".join(self.prompts)
                    raise ValueError(f"{judge.name} names the prompt {prompt}. Prompts: {known}")
            for way in self.raters(judge):
                if way.answer == "probabilities" and way.think != "none":
                    raise ValueError(
                        f"{judge.name}: probabilities are read off the first word of an answer, "
                        "before anything is thought: use think: none with them"
                    )
        return self

    def raters(self, judge: Judge) -> "Iterator[JudgeRater]":
        """Every combination of a judge's variations, each as often as it is repeated."""
        temperatures: list[float | None] = [None]
        temperatures = [*(judge.temperatures or self.temperatures or temperatures)]
        ways = product(
            judge.prompts or list(self.prompts),
            temperatures,
            judge.memory or self.memory or ["fresh"],
            judge.think or self.think or ["none"],
            judge.answer or self.answer or ["json"],
        )
        repeats = judge.repeats or self.repeats or 1
        for prompt, temperature, memory, think, answer in ways:
            for repeat in range(1, repeats + 1):
                yield JudgeRater(judge.name, prompt, temperature, memory, think, answer, repeat)

    def language_of(self, judge: Judge) -> str | None:
        """In which a judge reads the study; none for the study's own."""
        return judge.language or self.language

    def cells_of(self, judge: Judge) -> list[str] | None:
        """The cells that a judge takes by name; none for all."""
        return judge.cells if judge.cells is not None else self.cells

    def participations_of(self, judge: Judge) -> int:
        """How many orders of screens a judge sees in each cell."""
        return judge.participations or self.participations or 1


@dataclass(frozen=True)
class JudgeRater:
    """A rater: a judge with one prompt and one of each setting, for the n-th time.

    Attributes:
        judge: The judge's name.
        prompt: The prompt's name.
        temperature: Of sampling; none for the model's own setting.
        memory: `fresh` or `session`.
        think: `none`, `short` or `long`.
        answer: `json`, `text` or `probabilities`.
        repeat: From 1.
        language: In which the study is read; empty for its own.
        occasion: From 1; the same asked again at another time has the next.
    """

    judge: str
    prompt: str = PLAIN
    temperature: float | None = None
    memory: str = "fresh"
    think: str = "none"
    answer: str = "json"
    repeat: int = 1
    language: str = ""
    occasion: int = FIRST_OCCASION

    @property
    def name(self) -> str:
        """The rater's name in the data; what is usual is left out.

        Examples:
            >>> JudgeRater("small").name, JudgeRater("small", "plain", 0.7, "session").name
            ('small/plain#1', 'small/plain/t=0.7/session#1')
            >>> JudgeRater("small", language="de", occasion=2).name
            'small/plain/de#1@2'
        """
        parts = [self.judge, self.prompt]
        parts += [] if self.temperature is None else [f"t={self.temperature:g}"]
        usual = ("fresh", "none", "json")
        said = (self.memory, self.think, self.answer)
        parts += [word for word, common in zip(said, usual, strict=True) if word != common]
        parts += [self.language] if self.language else []
        again = "" if self.occasion == FIRST_OCCASION else f"@{self.occasion}"
        return f"{'/'.join(parts)}#{self.repeat}{again}"


def read_judges(path: Path) -> Judges:
    r"""A file of judges, checked; errors name the line, the key and the remedy.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "judges.yaml"
        >>> _ = path.write_text("judges:\n- {name: a, agent: 'script:a.txt'}\nrepaets: 3\n")
        >>> read_judges(path)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        ...
        dialens.base._yaml_models.InvalidFile: ...judges.yaml:3: repaets: there is no such key...
    """
    data, lines = read_yaml(path)
    return validated(Judges, data, lines, path)


def judges_schema() -> dict[str, JSON]:
    """The JSON Schema of `judges.yaml`, for editors.

    Examples:
        >>> judges_schema()["required"]
        ['judges']
    """
    described = Judges.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}


def write_judges(folder: Path) -> Path:
    """Write a file of judges to start from, and its schema for editors; gives the file's path."""
    return _written(folder / JUDGES, _START)


def one_judge(path: Path, agent: str, send_to: Sequence[str] = ()) -> Judges:
    """What a file with one judge would say; nothing is written (see `write_judge`).

    Args:
        path: The file that it is for.
        agent: The model, as on the command line.
        send_to: Hosts to which texts may be sent.
    """
    target = agent.partition(":")[2].strip().rstrip("/")
    name = re.sub(r"[\s/#,=]+", "-", target.rpartition("/")[2]).strip("-")[:60] or "judge"
    data = {"judges": [{"name": name, "agent": agent}], "send_to": list(send_to)}
    return validated(Judges, data, {}, path)


def write_judge(path: Path, judges: Judges) -> Path:
    """Write a file with one judge, and its schema for editors; gives the file's path.

    Args:
        path: The file.
        judges: As `one_judge` gives it.

    Examples:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "judges.yaml"
        >>> asked = one_judge(file, "openai:lab/gpt-4o-mini", ["example.org"])
        >>> asked.judges[0].name, read_judges(write_judge(file, asked)) == asked
        ('gpt-4o-mini', True)
    """
    (judge,) = judges.judges
    lines = [
        f"# yaml-language-server: $schema={JUDGES_SCHEMA}",
        "judges:",
        f"  - name: {json.dumps(judge.name, ensure_ascii=False)}",
        f"    agent: {json.dumps(judge.agent, ensure_ascii=False)}",
        f"send_to: {json.dumps(judges.send_to)}",
    ]
    return _written(path, "\n".join(lines) + "\n")


def _written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    schema = json.dumps(judges_schema(), indent=1, ensure_ascii=False)
    path.with_name(JUDGES_SCHEMA).write_text(schema + "\n", "utf-8")
    return path


_START = f"""\
# yaml-language-server: $schema={JUDGES_SCHEMA}
# Which models take this study. `dialens study judge . --dry-run` says what that comes to.
judges:
  - name: mini                      # its name in the data
    agent: openai:gpt-4o-mini       # or llama:FILE.gguf, transformers:FOLDER, command:'PROGRAM' …
    set:                            # `dialens agents kinds openai` lists the settings
      price_in: 0.15                # of a million tokens; check your provider's list
      price_out: 0.60
      requests_per_minute: 300

# Each combination of what follows is a rater of its own; a judge may have its own values.
temperatures: [0, 0.7]
memory: fresh                       # or session: earlier screens stay in the conversation
think: none                         # or short, long
repeats: 3                          # asked anew each time: how steady is the judge?
answer: json                        # or text; or probabilities, where the model gives them
cells: all
participations: 1                   # orders of the screens in each cell

budget: {{cost: 5.00, requests: 5000}}  # asking stops before more is spent

# The texts of the study go to no other host than these. Models on this machine need none.
send_to: []                         # e.g. [api.openai.com]
"""
