from ._check import StudyEstimate, estimate, holds, preview
from ._codebook import codebook, codebook_markdown
from ._conversations import filled, is_absent, talk_of
from ._examples import TEA
from ._exchange import ANSWERED, FAILED, GIVEN_UP, WAITING, Exchange, is_over, spoken
from ._files import SCHEMA, STUDY, read_design, study_file, study_schema, write_schema
from ._http_participation import simulate_over_http
from ._judgements import check_outcomes, rating_rows
from ._participation import attendance
from ._preregistration import (
    FILE,
    Preregistration,
    differences,
    preregister,
    preregistration_markdown,
    read_preregistration,
)
from ._raters import HUMAN, RATER_HEADER, SIMULATED, Reply, seen
from ._study import Study, load_study, study_of
from ._types import JSON, SCREEN_KINDS, Answer, AnswerError, Cell, Field, Screen
from .plan import Planner, plan

__all__ = [
    "ANSWERED",
    "FAILED",
    "FILE",
    "GIVEN_UP",
    "HUMAN",
    "JSON",
    "RATER_HEADER",
    "SCHEMA",
    "SCREEN_KINDS",
    "SIMULATED",
    "STUDY",
    "TEA",
    "WAITING",
    "Answer",
    "AnswerError",
    "Cell",
    "Exchange",
    "Field",
    "Planner",
    "Preregistration",
    "Reply",
    "Screen",
    "Study",
    "StudyEstimate",
    "attendance",
    "check_outcomes",
    "codebook",
    "codebook_markdown",
    "differences",
    "estimate",
    "filled",
    "holds",
    "is_absent",
    "is_over",
    "load_study",
    "plan",
    "preregister",
    "preregistration_markdown",
    "preview",
    "rating_rows",
    "read_design",
    "read_preregistration",
    "seen",
    "simulate_over_http",
    "spoken",
    "study_file",
    "study_of",
    "study_schema",
    "talk_of",
    "write_schema",
]
