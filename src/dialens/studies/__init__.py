"""Human evaluation: studies declared in a file, planned screen by screen, kept and exported.

`study` reads a study file and its items, `flow` plans what a participant sees, `instruments` are
the ways to ask, `judgements` turns answers into rows, `store` keeps them. Pages and commands live
above (`dialens.web`, `dialens.cli`), statistics too: nothing here imports them. Needs the extra
`studies`.
"""

from dialens.studies.check import estimate, preview
from dialens.studies.codebook import codebook, codebook_markdown
from dialens.studies.files import study_schema
from dialens.studies.flow import Planner, plan
from dialens.studies.judgements import check_outcomes, rating_rows
from dialens.studies.study import Study, load_study, study_of
from dialens.studies.types import Answer, AnswerError, Cell, Field, Screen

__all__ = [
    "Answer",
    "AnswerError",
    "Cell",
    "Field",
    "Planner",
    "Screen",
    "Study",
    "check_outcomes",
    "codebook",
    "codebook_markdown",
    "estimate",
    "load_study",
    "plan",
    "preview",
    "rating_rows",
    "study_of",
    "study_schema",
]
