from ._check import StudyEstimate, estimate, holds, preview
from ._codebook import codebook, codebook_markdown
from ._conversations import filled, is_absent, talk_of
from ._examples import TEA
from ._exchange import ANSWERED, FAILED, GIVEN_UP, WAITING, Exchange, is_over, spoken
from ._files import SCHEMA, STUDY, read_design, study_file, study_schema, write_schema
from ._http_participation import simulate_over_http
from ._judgements import check_outcomes, rating_rows
from ._operation import NOTES, OPERATION, named, operation_values, settings_from
from ._participation import Entrance, attendance, take_part
from ._preregistration import (
    FILE,
    NOT_PREREGISTERED,
    PreregistrationCheck,
    check_export,
    check_study,
    preregister,
    preregistration_markdown,
    read_preregistration,
)
from ._raters import HUMAN, RATER_HEADER, SIMULATED, RaterReply, seen
from ._study import Study, load_study, study_of
from ._types import JSON, SCREEN_KINDS, Answer, AnswerError, Cell, Field, Screen
from .plan import Planner

__all__ = [
    "ANSWERED",
    "FAILED",
    "FILE",
    "GIVEN_UP",
    "HUMAN",
    "JSON",
    "NOTES",
    "NOT_PREREGISTERED",
    "OPERATION",
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
    "Entrance",
    "Exchange",
    "Field",
    "Planner",
    "PreregistrationCheck",
    "RaterReply",
    "Screen",
    "Study",
    "StudyEstimate",
    "attendance",
    "check_export",
    "check_outcomes",
    "check_study",
    "codebook",
    "codebook_markdown",
    "estimate",
    "filled",
    "holds",
    "is_absent",
    "is_over",
    "load_study",
    "named",
    "operation_values",
    "preregister",
    "preregistration_markdown",
    "preview",
    "rating_rows",
    "read_design",
    "read_preregistration",
    "seen",
    "settings_from",
    "simulate_over_http",
    "spoken",
    "study_file",
    "study_of",
    "study_schema",
    "take_part",
    "talk_of",
    "write_schema",
]
