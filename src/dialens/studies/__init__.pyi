from ._check import StudyEstimate, estimate, holds, preview
from ._codebook import codebook, codebook_markdown
from ._conversations import filled, is_absent, talk_of
from ._editing import Change, edited, fragment, yaml_value
from ._examples import TEA
from ._exchange import ANSWERED, FAILED, GIVEN_UP, WAITING, Exchange, is_over, spoken
from ._files import (
    PLACEHOLDER,
    SCHEMA,
    STUDY,
    check_finished,
    read_design,
    study_file,
    study_schema,
    write_schema,
)
from ._http_participation import simulate_over_http
from ._judgements import check_outcomes, rating_rows
from ._media import MEDIA_TYPES, media_files
from ._operation import NOTES, OPERATION, named, operation_values, settings_from
from ._paradata import DEVICES, Paradata
from ._participation import Entrance, attendance, ending, take_part
from ._precision import PRECISE, PRECISION_METHOD, Precision
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
from ._types import (
    FAILED_COMPREHENSION,
    JSON,
    NO_CONSENT,
    SCREEN_KINDS,
    SCREENED_OUT,
    WITHDRAWN,
    Answer,
    AnswerError,
    Cell,
    Field,
    Screen,
)
from ._waves import NextWave, next_wave, wave_number
from ._words import WORDS
from .plan import Planner

__all__ = [
    "ANSWERED",
    "DEVICES",
    "FAILED",
    "FAILED_COMPREHENSION",
    "FILE",
    "GIVEN_UP",
    "HUMAN",
    "JSON",
    "MEDIA_TYPES",
    "NOTES",
    "NOT_PREREGISTERED",
    "NO_CONSENT",
    "OPERATION",
    "PLACEHOLDER",
    "PRECISE",
    "PRECISION_METHOD",
    "RATER_HEADER",
    "SCHEMA",
    "SCREENED_OUT",
    "SCREEN_KINDS",
    "SIMULATED",
    "STUDY",
    "TEA",
    "WAITING",
    "WITHDRAWN",
    "WORDS",
    "Answer",
    "AnswerError",
    "Cell",
    "Change",
    "Entrance",
    "Exchange",
    "Field",
    "NextWave",
    "Paradata",
    "Planner",
    "Precision",
    "PreregistrationCheck",
    "RaterReply",
    "Screen",
    "Study",
    "StudyEstimate",
    "attendance",
    "check_export",
    "check_finished",
    "check_outcomes",
    "check_study",
    "codebook",
    "codebook_markdown",
    "edited",
    "ending",
    "estimate",
    "filled",
    "fragment",
    "holds",
    "is_absent",
    "is_over",
    "load_study",
    "media_files",
    "named",
    "next_wave",
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
    "wave_number",
    "write_schema",
    "yaml_value",
]
