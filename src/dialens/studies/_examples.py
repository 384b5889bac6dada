"""A small study, for examples in the documentation and for trying things."""

from typing import Any

TEA: dict[str, Any] = {
    "study": "tea",
    "title": "How good are these replies?",
    "items": {
        "inline": [
            {
                "id": f"c{number}",
                "context": [f"Question {number}: tea or coffee?"],
                "responses": {"plain": "Tea.", "warm": "Tea, always!", "odd": "Purple, I think."},
                "standard": "I like tea.",
            }
            for number in range(1, 7)
        ]
    },
    "qualities": {
        "readability": {"definition": "How easy it is to read.", "instrument": "magnitude"},
        "coherence": {"definition": "How well it fits.", "instrument": "magnitude"},
    },
    "factors": {"anchor": ["none", "both"], "layout": ["together", "separate"]},
    "consent": {"text": "We ask what you think of replies. Nothing else is stored."},
    "instructions": {"text": "Read the conversation, then judge each reply."},
}
"""A study file as plain data: two qualities, two factors, six items."""
