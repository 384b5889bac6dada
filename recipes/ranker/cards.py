r"""What the ranker's card says, and the whole way from trained weights to the folder that ships.

python -m recipes.ranker.cards --model FOLDER --threads INGESTED --chats FOLDER \
        --out packages/dialens-models/src/dialens_models/ranker
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dialens.models import LanguageModel, Model, TextInput, read_card
from dialens.models.training import export
from dialens.statistics import pearson, spearman
from recipes.encoder.chats import read_human_replies
from recipes.ranker.pools import (
    HEADS,
    SHIPPED_HEADS,
    Pools,
    asked,
    figures,
    make_pools,
    sample,
)
from recipes.ranker.threads import load_threads

NAME = "ranker"
_ONE_BY_ONE = 100
_QUARTILES = 2000
_WHOLE = ", before int8"
_log = logging.getLogger(__name__)

DATA = [
    {
        "name": "Reddit: Pushshift months 2005-12 to 2006-03, threads of 2010 to 2025, "
        "r/changemyview paths, threads of 2015 in 14 subreddits",
        "use": "replies given and not given; which of two replies to one parent drew more answers "
        "or a longer thread; texts whole and broken; language model",
        "licence": "users' own text, not redistributed; names were dropped at reading",
    },
    {
        "name": "Ji et al. 2022, rated chats with agents",
        "use": "replies people gave (no ratings)",
        "licence": "MIT",
    },
    {
        "name": "DBDC3 (English), breakdown annotations",
        "use": "replies people gave (no ratings)",
        "licence": "MIT",
    },
]
_ENGLISH = "English only; pairs are cut at 128 tokens."
_REDDIT = f"Says what Reddit's users would do, not what people in a chat would. {_ENGLISH}"
TASKS: dict[str, dict[str, Any]] = {
    "valid_utterance": {
        "labels": ["valid"],
        "intended_use": "USL-H's first part: is this a whole utterance, or one with words missing, "
        "added, looped or mixed up?",
        "limits": f"Knows four rules of breaking a text; fluent nonsense passes. {_ENGLISH}",
    },
    "next_utterance": {
        "labels": ["follows"],
        "pair": True,
        "intended_use": "USL-H's second part: was this reply given to this context, or elsewhere?",
        "limits": f"A reply on the same subject that answers nothing may pass. {_ENGLISH}",
    },
    "human_vs_rand": {
        "labels": ["belongs"],
        "pair": True,
        "intended_use": "DialogRPT's human against random, learned by comparing the reply with one "
        "from elsewhere; for ranking replies to one context.",
        "limits": f"Only differences between replies to the same context are learned. {_ENGLISH}",
    },
    "width": {
        "labels": ["wins"],
        "pair": True,
        "intended_use": "Which of several replies to one context would get more direct answers.",
        "limits": "Most of the data save at most three answers a comment and no times: 'more' is "
        f"up to three there, and an early reply had longer to be answered. {_REDDIT}",
    },
    "depth": {
        "labels": ["wins"],
        "pair": True,
        "intended_use": "Which of several replies to one context would start the longer thread.",
        "limits": f"Most of the data have no times, see width. {_REDDIT}",
    },
}


def notes(
    measured: Mapping[str, Any], normalisation: Mapping[str, Any], training: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a card without its files.

    Args:
        measured: Figures by task, and of `likelihood`.
        normalisation: Quantiles of the negative log-likelihood.
        training: What else there is to know about the run.
    """
    tasks = {
        name: {
            **entry,
            "activation": "sigmoid",
            "headline": next((key for key in measured.get(name, {}) if key.endswith(_WHOLE)), None),
            "metrics": dict(measured.get(name, {})),
        }
        for name, entry in TASKS.items()
    }
    return {
        "name": NAME,
        "tasks": tasks,
        "default_for": list(TASKS),
        "likelihood": {
            "intended_use": "USL-H's third part: negative log-likelihood of a reply by a masked "
            "language model, brought between 0 and 1 by the quartiles of people's replies in "
            "chats. Every sixth token is hidden at a time, in six passes.",
            "normalisation": dict(normalisation),
            "metrics": dict(measured.get("likelihood", {})),
        },
        "base_model": "all-MiniLM-L6-v2 (Apache-2.0), all 6 layers",
        "licence": "Apache-2.0",
        "data": DATA,
        "seed": 0,
        "training": {
            "command": "python -m recipes.ranker.train train --ranking --encoder first "
            "--taught teacher --rate 3e-4 --seed 0",
            "all_commands": "docs/models.md",
            "left out": "A head for votes (updown) was trained with the others and does not ship: "
            "pair accuracy .52 [.42, .53] on 1,144 held-out pairs of 45 threads.",
            **training,
        },
        "format": "int8 weights, one scale per block of 64; activations int8 per row and block "
        "(int8.onnx) or float (fp32.onnx). likelihood.int8.onnx and likelihood.fp32.onnx share the "
        "weights. The float weights before quantisation do not ship.",
    }


def answers(model: Model, pools: Pools) -> dict[str, np.ndarray]:
    """Return the logits of what is asked for the figures, from the folder that ships.

    Heads that do not ship are NaN.
    """
    found = {}
    for name, (replies, contexts) in asked(pools).items():
        if contexts is None:
            inputs: list[TextInput] = [pools.texts[i] for i in replies]
        else:
            inputs = list(pools.inputs(replies, contexts))
        told = model.run_many(inputs, list(SHIPPED_HEADS), label=name)
        logits = np.full((len(inputs), len(HEADS)), np.nan)
        for head, part in SHIPPED_HEADS.items():
            logits[:, part] = told[head]
        found[name] = logits
    return found


def quartiles(language: LanguageModel, replies: list[str]) -> dict[str, dict[str, float]]:
    """Return what USL-H normalises the negative log-likelihood by."""
    low, high = np.quantile(-language.score(replies).total, [0.25, 0.75])
    return {"nll": {"low": round(float(low), 3), "high": round(float(high), 3)}}


def _cost(before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    # What quantisation does to the numbers themselves.
    return {
        "correlation before and after quantisation": round(pearson(before, after), 4),
        "rank correlation before and after quantisation": round(spearman(before, after), 4),
    }


def measure(
    folder: Path, pools: Pools, before: Mapping[str, np.ndarray] | None, *, most: int
) -> dict[str, dict[str, Any]]:
    """Return the figures of the folder that ships, and what quantisation cost.

    Args:
        folder: An exported model.
        pools: Held-out threads, as they were drawn for training's own report.
        before: The logits of that report.
        most: How many of each kind are asked of the exported model.
    """
    card = read_card(folder)
    some, rows = sample(pools, most)
    nothing = some.ranked["updown"].take(np.zeros(0, dtype=np.int64))
    some = replace(some, ranked={**some.ranked, "updown": nothing})
    logits = answers(Model(card, "width"), some)
    found: dict[str, dict[str, Any]] = figures(logits, some)
    language = LanguageModel(card)
    texts = [pools.texts[i] for i in pools.plain[:most]]
    told = language.score(texts)
    each = language.score(texts[:_ONE_BY_ONE], each=True)
    sixth = told.total[:_ONE_BY_ONE] / told.tokens[:_ONE_BY_ONE]
    found["likelihood"] = {
        "perplexity of hidden tokens, held-out threads": round(
            float(np.exp(-told.total.sum() / told.tokens.sum())), 2
        ),
        "rank correlation with one token hidden at a time, per token": round(
            spearman(sixth, each.total / each.tokens), 4
        ),
    }
    if before is None:
        return found
    whole = figures(before, pools)
    for name, one in found.items():
        if name == "likelihood":
            one.update(_cost(before[name][: len(texts), 0], told.total))
            continue
        key = next(iter(one))
        kind = {"valid_utterance": "whole", "width": "width higher", "depth": "depth higher"}
        asked_of = kind.get(name, "given")
        earlier = before[asked_of][rows[asked_of], HEADS[name].start]
        one.update(_cost(earlier, logits[asked_of][:, HEADS[name].start]))
        one[f"{key}{_WHOLE}"] = whole[name][key]
    return found


def main() -> None:
    """Export, measure, and export again with a whole card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="weights, config, tokenizer")
    parser.add_argument("--threads", type=Path, required=True, help="from engagement ingest")
    parser.add_argument("--chats", type=Path, required=True)
    parser.add_argument("--measured", type=int, default=8000, help="as in training")
    parser.add_argument("--asked", type=int, default=2000, help="of each, the exported model")
    parser.add_argument("--limit", type=int, help="comments, for a rehearsal")
    parser.add_argument("--notes", type=Path, help="more about the training (JSON)")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    training = json.loads(options.notes.read_text("utf-8")) if options.notes else {}
    export(options.model, options.out, SHIPPED_HEADS, notes({}, {}, training))
    people = read_human_replies(options.chats).part(held_out=False).some(_QUARTILES, seed=0)
    language = LanguageModel(read_card(options.out))
    normalisation = quartiles(language, [reply for _, reply in people.inputs])
    _log.info("%s", normalisation)
    threads = load_threads(options.threads, options.limit)
    pools = make_pools(threads, options.chats, held_out=True, seed=1, most=options.measured)
    file = options.model / "logits.npz"
    before = dict(np.load(file)) if file.exists() else None
    found = measure(options.out, pools, before, most=options.asked)
    _log.info("%s", json.dumps(found, indent=1))
    export(options.model, options.out, SHIPPED_HEADS, notes(found, normalisation, training))


if __name__ == "__main__":
    main()
