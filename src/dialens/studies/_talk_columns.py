"""The columns of tables about conversations with agents, in words for the codebook."""

from dialens.studies._exchange import PARTIAL

EXCHANGE_COLUMNS: dict[str, str] = {
    "talk": "The conversation within the participation; side by side, -1 is the first agent's side "
    "and -2 the second's",
    "number": "Of the message in it, from 1",
    "system": "System of the agent",
    "agent": "Agent that the message was sent to",
    "said": "What the participant wrote",
    "said_at": "When it was stored (UTC)",
    "state": "answered, waiting, failed, or given_up (the conversation ended there)",
    "tries": "How often the agent was asked for the reply",
    "reply": "What the agent said",
    "replied_at": "When that, or the last failure, was stored (UTC)",
    "reason": "Of the last failure",
    "seconds": "From the question to the last piece of the reply",
    "requests": "That the agent made for it, where it says so",
    "tokens_in": "Read by the model, where it says so",
    "tokens_out": "Written by the model, where it says so",
    "cost": "In the currency of the agent's prices, where they are known",
    "shown_at": "From when on the whole reply was shown (UTC)",
    "ended": "How the conversation ended: exchanges (all messages were written), participant, "
    "time, or agent (it ended it, or failed for good); empty if it did not",
    "finish": "Why the reply ended in the middle: length (cut off at the most tokens), "
    "content_filter, …; empty if it is whole, or the agent does not say",
    "waited": "Seconds from the message until the whole reply was shown",
    "held_ms": "Milliseconds for which the reply was held back for the pace; empty without one",
    "over_pace": "Seconds by which the agent was slower than the pace, 0 if it was not",
    "partial": "Whether the conversation did not come to its end",
    "partial_reason": "Why: " + "; ".join(f"{name} ({why})" for name, why in PARTIAL.items()),
}
"""The columns of exchanges.parquet, beside those that say whose they are."""

FAILURE_COLUMNS: dict[str, str] = {
    "asked": "Which time the agent was asked for the reply, from 1",
    "reason": "A word for what happened: timeout, malformed, empty, …",
    "told": "What went wrong, in detail",
    "seconds": "From the question to the failure",
    "failed_at": "When it was stored (UTC)",
}
"""The columns of failures.parquet, beside those that say which message it was."""
