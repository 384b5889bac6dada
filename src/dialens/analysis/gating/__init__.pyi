from ._gate import gate, gate_runs
from ._result import DECISIONS, Check, GateResult, Outcome
from ._rules import Rule, metrics_of, parse_rule, read_rules

__all__ = [
    "DECISIONS",
    "Check",
    "GateResult",
    "Outcome",
    "Rule",
    "gate",
    "gate_runs",
    "metrics_of",
    "parse_rule",
    "read_rules",
]
