"""What a real language model does as a judge: agreement with people, pull, steadiness, leanings.

Three studies are written into a folder, judged by `dialens study judge` and analysed:

- `persona`: replies of PersonaChat-USR, which three people rated overall from 1 to 5; as they are,
  and with "Another rater gave it 1" or "5" below the question;
- `anchoring`: the template anchoring2020 with real replies of three agents from the same set;
- `bias`: the template judge-bias with its own items;
- `bias_real`: the same with real replies of two agents from that set, whose further forms are made
  here: filler added, Markdown, a made-up source.

Everything is kept in that folder: stopped and run again, or with more dialogues, only what is
missing is asked. Figures of `docs/judges.md` come from here.

    python benchmarks/real_judge.py MODEL.gguf DATA --out FOLDER [--dialogues 20] [--threads 1]

DATA is the folder in which `usr_personachat.jsonl.gz` lies.
"""

import argparse
import gzip
import json
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from dialens.analysis.judges import judges_against_people
from dialens.studies import load_study
from dialens.studies.judges import Ledger

SET = "usr_personachat.jsonl.gz"
SEED = 1
LOW, HIGH = 1, 5
STUDIES = ("persona", "anchoring", "bias", "bias_real")
AGENTS = {"KV-MemNN": "kv_memnn", "Seq2Seq": "seq2seq", "Language Model": "language_model"}
PAIR = {"Original Ground Truth": "person", "Seq2Seq": "seq2seq"}
FILLER = "There is a lot that one could say about this, and people see it in many ways."
_TURNS = 3  # of a context that are shown in `anchoring`, whose screens hold three replies

Unit = Mapping[str, Any]


def units(folder: Path, dialogues: int) -> list[Unit]:
    """The replies to some contexts, drawn by the seed; more of them begin with the same ones."""
    with gzip.open(folder / SET, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    names = sorted({row["dialog_id"] for row in rows})
    random.Random(SEED).shuffle(names)
    return [row for name in names[:dialogues] for row in rows if row["dialog_id"] == name]


def persona(folder: Path, rows: Sequence[Unit]) -> None:
    """A study of single replies, with a number of another rater as a factor."""
    note = "Another rater gave it {value}."
    design = {
        "study": "persona",
        "title": "How good is this reply?",
        "items": {"file": "items.jsonl"},
        "qualities": {
            "overall": {
                "label": "Overall",
                "definition": "How good the reply is, all in all.",
                "question": "How good is this reply overall?",
                "instrument": {"kind": "likert", "points": HIGH,
                               "labels": {LOW: "very bad", HIGH: "very good"}},
            }
        },
        "factors": {
            "anchor_value": {
                "assign": "between",
                "levels": ["none", *({"name": str(n), "value": {"overall": n}, "note": note}
                                     for n in (LOW, HIGH))],
            }
        },
        # replies to the same context follow each other: what was read of it need not be read again
        "presentation": {"order": "fixed", "layout": "together", "response_label": "Reply"},
        "targets": 4,
        "contact": "none",
        "consent": {"text": "You will read conversations and judge replies."},
        "instructions": {"text": "Read each conversation, then judge the reply to its last line."},
        "recruiter": {"kind": "link"},
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    items = [
        {"id": row["unit_id"], "context": [turn["text"] for turn in row["context"]],
         "responses": {"reply": row["response"]}}
        for row in rows
    ]  # fmt: skip
    _write_items(folder / "items.jsonl", items)
    (folder / "study.yaml").write_text(json.dumps(design), "utf-8")


def anchoring(folder: Path, rows: Sequence[Unit]) -> None:
    """The template with real replies; people's own reply is the standard."""
    if not folder.exists():
        dialens("new", "--template", "anchoring2020", "-o", str(folder))
    items = []
    for name in dict.fromkeys(row["dialog_id"] for row in rows):
        of = {row["system"]: row for row in rows if row["dialog_id"] == name}
        standard = of["Original Ground Truth"]
        items.append(
            {
                "id": name,
                "context": [turn["text"] for turn in standard["context"]][-_TURNS:],
                "standard": standard["response"],
                "responses": {short: of[long]["response"] for long, short in AGENTS.items()},
            }
        )
    _write_items(folder / "items.jsonl", items)
    file = folder / "study.yaml"
    text = file.read_text("utf-8").replace("file: items.yaml", "file: items.jsonl")
    if "checks:" in text:  # they come after more items than there are
        text = text[: text.index("checks:")] + text[text.index("limits:") :]
    file.write_text(text, "utf-8")


def bias(folder: Path, rows: Sequence[Unit] = ()) -> None:
    """The template as it is, or with real replies."""
    if not folder.exists():
        dialens("new", "--template", "judge-bias", "-o", str(folder))
    if not rows:
        return
    items = []
    for name in dict.fromkeys(row["dialog_id"] for row in rows):
        of = {row["system"]: row for row in rows if row["dialog_id"] == name}
        replies = {short: of[long]["response"] for long, short in PAIR.items()}
        items.append(
            {
                "id": name,
                "context": [turn["text"] for turn in of["Seq2Seq"]["context"]][-_TURNS:],
                "responses": replies,
                "variants": {short: forms(text) for short, text in replies.items()},
            }
        )
    _write_items(folder / "items.jsonl", items)
    file = folder / "study.yaml"
    file.write_text(file.read_text("utf-8").replace("items.yaml", "items.jsonl"), "utf-8")


def forms(reply: str) -> dict[str, str]:
    """The same reply with filler, in Markdown, and with a source that does not exist."""
    first, _, rest = reply.partition(" . ")
    return {
        "padded": f"{reply} {FILLER}",
        "markdown": f"**{first}**" + (f"\n\n- {rest}" if rest else ""),
        "cited": f"{reply} (Handbook of Conversation, 2nd edition)",
    }


def _write_items(path: Path, items: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items), "utf-8")


def dialens(*words: str) -> None:
    """A command of `dialens study`."""
    subprocess.run([sys.executable, "-m", "dialens", "study", *words], check=True)


def judged(folder: Path, model: Path, threads: int, **settings: Any) -> None:
    """Let the model take a study, as far as it has not done so."""
    judge = {
        "name": model.stem,
        "agent": f"llama:{model.resolve()}",
        "set": {"threads": threads, "context": 4096},
    }
    file = folder / "judges.yaml"
    file.write_text(json.dumps({"judges": [judge], **settings}), "utf-8")
    dialens("judge", str(folder), "--at-once", "1")


def pace(folder: Path) -> str:
    """How many were asked, and how long one took."""
    with Ledger.open(folder / "judges.db") as ledger:
        asked = ledger.frame([load_study(folder / "study.yaml").hash])
    times = asked.filter(~pl.col("saved"))["asked_at"].str.to_datetime().sort()
    gaps = times.diff().drop_nulls().dt.total_milliseconds().to_numpy()
    lost = asked.filter(pl.col("state") != "answered").height
    told = f", one in {np.median(gaps) / 1000:.1f} s" if len(gaps) else ""
    return f"{asked.height:,} answers asked for, {lost} missing{told}"


def exported(folder: Path) -> pl.DataFrame:
    """The ratings of a study that judges took."""
    dialens("export", str(folder), "-o", str(folder / "export"), "--force")
    return pl.read_parquet(folder / "export" / "ratings.parquet")


def analysed(folder: Path) -> dict[str, Any]:
    """What `study analyze` finds."""
    dialens("analyze", str(folder), "--resamples", "200")
    found: dict[str, Any] = json.loads((folder / "analysis" / "analysis.json").read_text("utf-8"))
    return found


def of_persona(folder: Path, rows: Sequence[Unit]) -> None:
    """Agreement with people where no number is shown, and what the number does."""
    ratings = exported(folder).with_columns(item=pl.col("dialog"))
    wide = ratings.pivot("anchor_value", index="item", values="value", aggregate_function="mean")
    plain = ratings.filter(pl.col("anchor_value") == "none")
    people = pl.DataFrame(
        [
            (row["unit_id"], rater, "human", "overall", float(value))
            for row in rows
            for rater, value in zip(row["raters"], row["ratings"]["Overall"], strict=True)
        ],
        ["item", "rater", "rater_kind", "quality", "value"],
        orient="row",
    )
    people = people.join(plain.select("item").unique(), on="item", how="semi")
    both = pl.concat([people, plain.select(*people.columns, "judge")], how="diagonal")
    (row,) = judges_against_people(both).iter_rows(named=True)
    names = ("n", "r", "r_low", "r_high", "r_corrected", "ceiling", "saving_most",
             "winning_rate", "advantage", "reason")  # fmt: skip
    told("people beside it", {name: row[name] for name in names})
    told("people's mean", people["value"].mean())
    for level in wide.columns[1:]:
        told(f"mean, number shown: {level}", _mean(wide[level].drop_nulls().to_numpy()))
    full = wide.drop_nulls()
    if {str(LOW), str(HIGH)} <= set(wide.columns) and full.height > 1:
        moved = (full[str(HIGH)] - full[str(LOW)]).to_numpy() / (HIGH - LOW)
        told("share of the way to the number shown, over replies", _mean(moved))


def _mean(values: np.ndarray) -> str:
    """With a 95 % interval over items."""
    if len(values) < 2:
        return "too few"
    reach = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    middle = values.mean()
    return f"{middle:.3f} [{middle - reach:.3f}, {middle + reach:.3f}] (n = {len(values)})"


def of_template(folder: Path) -> None:
    """What the report says of a template's study: effects, leanings, steadiness."""
    found = analysed(folder)
    told("answer", found["answer"])
    for row in found["judges"]:
        told("judge", {name: value for name, value in row.items() if value is not None})
    effect = ("effect", "quality", "value", "low", "high", "p_adjusted", "reason")
    for row in found["effects"]:
        told("effect", {name: row[name] for name in effect})
    leaning = ("bias", "of", "quality", "measure", "value", "low", "high", "reason")
    for row in found["leanings"]:
        told("leaning", {name: row[name] for name in leaning})


def told(name: str, value: object) -> None:
    """Print a figure."""
    if isinstance(value, Mapping):
        value = ", ".join(
            f"{key} {one:.3f}" if isinstance(one, float) else f"{key} {one}"
            for key, one in value.items()
        )
    print(f"  {name}: {value}", flush=True)


def main() -> None:
    """Ask what is missing, then print the figures."""
    read = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    read.add_argument("model", type=Path)
    read.add_argument("data", type=Path)
    read.add_argument("--out", type=Path, required=True)
    read.add_argument("--dialogues", type=int, default=20, help="of 60, five replies each")
    read.add_argument("--contexts", type=int, default=10, help="in `anchoring` and `bias_real`")
    read.add_argument("--participations", type=int, default=3, help="in `bias` and `bias_real`")
    read.add_argument("--threads", type=int, default=1)
    read.add_argument("--only", choices=STUDIES, action="append")
    wanted = read.parse_args()
    wished = wanted.only or STUDIES
    rows = units(wanted.data, wanted.dialogues)
    if "persona" in wished:
        folder = wanted.out / "persona"
        persona(folder, rows)
        judged(folder, wanted.model, wanted.threads, answer="probabilities")
        print(f"persona: {pace(folder)}")
        of_persona(folder, rows)
    if "anchoring" in wished:
        folder = wanted.out / "anchoring"
        anchoring(folder, units(wanted.data, wanted.contexts))
        judged(folder, wanted.model, wanted.threads, temperatures=0.7, repeats=2)
        print(f"anchoring: {pace(folder)}")
        of_template(folder)
    if "bias" in wished:
        folder = wanted.out / "bias"
        bias(folder)
        more = {"answer": "probabilities", "participations": wanted.participations}
        judged(folder, wanted.model, wanted.threads, **more)
        print(f"bias: {pace(folder)}")
        of_template(folder)
    if "bias_real" in wished:
        folder = wanted.out / "bias_real"
        bias(folder, units(wanted.data, wanted.contexts))
        more = {"answer": "probabilities", "participations": wanted.participations}
        judged(folder, wanted.model, wanted.threads, **more)
        print(f"bias_real: {pace(folder)}")
        of_template(folder)


if __name__ == "__main__":
    main()
