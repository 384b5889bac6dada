"""From the database to files that others can work with: tidy tables, codebook, data card.

Nothing of a worker's id leaves the database. Participants go by their pseudonyms, by which they
can be forgotten (`Store.forget`), and taken out of exports made before that (`recall`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from dialens.base import DialensError, atomic_folder, first_line
from dialens.studies._codebook import codebook, codebook_markdown
from dialens.studies._study import Study
from dialens.studies.design import LANGUAGE
from dialens.studies.export._card import ExportedVersion, card_markdown
from dialens.studies.export._gates import comprehension, consents
from dialens.studies.export._participants import participants_table
from dialens.studies.export._tables import tables
from dialens.studies.export._talks import CONVERSATIONS, with_partial, write_conversations
from dialens.studies.judges import Ledger, judge_ratings, with_conditions
from dialens.studies.store import (
    EXCHANGES,
    IS_CHANGE,
    ConversationStore,
    OperationStore,
    Store,
    pace_sentences,
    partial_sentences,
)

MARKER = "codebook.json"
"""By which an earlier export is known again and may be replaced."""

CSV = "csv"
"""The folder of the same tables as text."""

Flags = Callable[[pl.DataFrame, pl.DataFrame], Mapping[str, Sequence[str]]]
"""What should be looked at twice, by pseudonym, from ratings and questionnaires."""


class UnreadableVersion(DialensError):
    """A version of a study was served by a dialens whose study files this one cannot read."""


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        folder: Where.
        participants: People with at least one answer in the tables.
        ratings: Rows of ratings.parquet.
        answers: Rows of answers.parquet.
        events: Rows of events.parquet.
        left_out: Answers that are not among the ratings, by reason.
        excluded: People who were excluded; their rows are there, and marked.
        conversations: Dialogues of the corpus `conversations`, where people talked with agents.
        failures: Times that an agent failed.
        conversations_said: How many conversations of each agent did not come to their end, and
            which agent was slower than the pace of the study, a sentence each.
        judged: Ratings of judges, which are among the ratings.
        judges: Places of judges' answers, rows of judges.parquet.
    """

    folder: Path
    participants: int
    ratings: int
    answers: int
    events: int
    left_out: Mapping[str, int]
    excluded: int = 0
    conversations: int = 0
    failures: int = 0
    judged: int = 0
    judges: int = 0
    conversations_said: tuple[str, ...] = ()


def export(
    store: Store,
    study: str | Sequence[str],
    folder: str | Path,
    *,
    force: bool = False,
    flags: Flags | None = None,
    hand_over: Callable[[Path], None] | None = None,
    judges: Path | None = None,
) -> Exported:
    """Write everything a study has collected, of one version or of several together.

    Files: `participants.parquet` (one row a person and wave), `ratings.parquet` (one row a rating,
    in the columns of `dialens.corpus.RATINGS`, then factors), `questionnaires.parquet`,
    `answers.parquet` (every answer as it was given), `events.parquet`, `screens.parquet` (every
    screen, with how it was answered), `consents.parquet` (who agreed to what), `changes.parquet`
    (what was changed while people took part), `csv/` (the same as text), `codebook.json`,
    `codebook.md`, `card.md`. Where there are comprehension questions also `comprehension.parquet`;
    where people talked with agents `exchanges.parquet`, `failures.parquet` and the corpus folder
    `conversations`. Where language models took the study, their ratings stand among the others
    with the rater kind `llm`, and `judges.parquet` holds what they were asked and answered. Every
    table has a column `version`.

    Args:
        store: The database.
        study: The hash of the study's definition, or those of several versions, the newest last.
        folder: Where to; an earlier export there is replaced.
        force: Whether anything else there is replaced too.
        flags: Says which participants should be looked at twice.
        hand_over: Writes scripts for other programs into the folder `csv`.
        judges: The ledger of judges (`judges.db`), if there may be one.

    Examples:
        >>> import tempfile
        >>> from datetime import UTC, datetime
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> folder = Path(tempfile.mkdtemp())
        >>> with Store.open(f"sqlite:///{folder}/tea.db") as store:
        ...     tea = store.register(study_of(TEA), now=datetime(2026, 1, 1, tzinfo=UTC))
        ...     result = export(store, tea.hash, folder / "export")
        >>> result.ratings, sorted(path.name for path in result.folder.glob("*.parquet"))
        (0, ['answers.parquet', 'changes.parquet', 'consents.parquet', 'events.parquet',
             'participants.parquet', 'questionnaires.parquet', 'ratings.parquet',
             'screens.parquet'])
    """
    target = Path(folder)
    hashes = [study] if isinstance(study, str) else list(study)
    versions = [_version(store, one) for one in hashes]
    newest = versions[-1].study
    operating = OperationStore(store, "command")

    def of_all(frame: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
        """A table of all versions; who chose no language took part in the study's own."""
        return pl.concat([_said_in(frame(one.record.hash), one.study) for one in versions])

    answers = of_all(store.answers_frame)
    shown = {one.record.version: one.study for one in versions}
    ratings, questionnaires, left_out = tables(answers, shown)
    people = of_all(operating.participants_frame)
    marked = None if flags is None or not ratings.height else flags(ratings, questionnaires)
    asked, judged = _judges(judges, versions)
    if asked.height:
        ratings = pl.concat([ratings, judged], how="diagonal_relaxed")
    talked = any(one.study.design.conversations is not None for one in versions)
    talking = ConversationStore(store.database)
    said = of_all(talking.exchanges_frame) if talked else EXCHANGES.to_frame()
    if talked:
        ratings = with_partial(ratings, said)
    frames = {
        "participants": participants_table(people, marked),
        "ratings": ratings,
        "questionnaires": questionnaires,
        "answers": answers,
        "events": of_all(store.events_frame),
        "screens": of_all(store.screens_frame),
        "consents": consents(answers),
        "changes": of_all(operating.changes_frame).filter(IS_CHANGE),
    }
    if asked.height:
        frames["judges"] = asked
    if any(one.study.design.instructions.comprehension is not None for one in versions):
        frames["comprehension"] = comprehension(answers)
    done = Exported(
        target,
        answers["rater"].n_unique(),
        ratings.height,
        answers.height,
        frames["events"].height,
        left_out,
        people.filter("excluded")["rater"].n_unique(),
        judged=judged.height,
        judges=asked.height,
    )
    with atomic_folder(target, force=force, private=True) as scratch:  # people's answers
        if talked:
            failed = of_all(talking.failures_frame)
            frames |= {"exchanges": said, "failures": failed}
            n_conversations = write_conversations(newest, said, ratings, scratch / CONVERSATIONS)
            done = replace(
                done,
                conversations=n_conversations,
                failures=failed.height,
                conversations_said=(*partial_sentences(said), *pace_sentences(said)),
            )
        (scratch / CSV).mkdir()
        for name, frame in frames.items():
            frame.write_parquet(scratch / f"{name}.parquet")
            frame.write_csv(scratch / CSV / f"{name}.csv")
        _write_codebooks(versions, scratch, judged=bool(asked.height))
        if hand_over is not None:
            hand_over(scratch / CSV)
        (scratch / "card.md").write_text(card_markdown(versions, answers, done), "utf-8")
    return done


def _judges(
    path: Path | None, versions: Sequence[ExportedVersion]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What judges were asked in these versions, and their ratings."""
    if path is None or not path.exists():
        return pl.DataFrame(), pl.DataFrame()
    with Ledger.open(path) as ledger:
        asked = [with_conditions(one.study, ledger.frame([one.record.hash])) for one in versions]
        parts = [judge_ratings(one.study, ledger) for one in versions]
    return pl.concat(asked), pl.concat(parts, how="diagonal_relaxed")


def _said_in(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    if LANGUAGE not in frame.columns:
        return frame
    return frame.with_columns(pl.col(LANGUAGE).fill_null(study.design.language))


def _version(store: Store, study: str) -> ExportedVersion:
    record = store.study(study)
    try:
        definition = record.study
    except (DialensError, ValueError, KeyError, TypeError) as error:
        raise UnreadableVersion(
            f"Version {record.version} of {record.name} cannot be read by this dialens "
            f"({first_line(error)}). Export it with the one that served it, and the others by name."
        ) from error
    known = store.precision(study)
    said = () if known is None else known.sentences
    return ExportedVersion(record, definition, store.progress(study), store.times(study), said)


def _write_codebooks(versions: Sequence[ExportedVersion], folder: Path, *, judged: bool) -> None:
    """The codebook of the newest version under its usual name, those of others beside it."""
    newest = versions[-1].study
    hashes = {one.record.version: one.record.hash for one in versions}
    text = json.dumps(
        {**codebook(newest, judged=judged), "versions": hashes}, ensure_ascii=False, indent=2
    )
    (folder / MARKER).write_text(text + "\n", "utf-8")
    (folder / "codebook.md").write_text(codebook_markdown(newest, judged=judged), "utf-8")
    for one in versions[:-1]:
        name = f"codebook-version-{one.record.version}.md"
        (folder / name).write_text(codebook_markdown(one.study, judged=judged), "utf-8")
