from ._agents import check_agent
from ._gates import assert_gate
from ._instruments import check_instrument
from ._metrics import check_metric
from ._readers import check_reader
from ._recruiters import check_recruiter

__all__ = [
    "assert_gate",
    "check_agent",
    "check_instrument",
    "check_metric",
    "check_reader",
    "check_recruiter",
]
