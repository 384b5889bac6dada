"""`dialens study recruit`: find participants on a platform, and pay them."""

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import DialensError, did_you_mean, progress
from dialens.cli._terminal import plain_console, plain_table
from dialens.cli.study._database import DatabaseOption, StudyPath, Unfinished, recorded_study
from dialens.cli.study._extra import studies_extra
from dialens.cli.study._recruited import as_run, work_of

if TYPE_CHECKING:
    from dialens.studies import Study
    from dialens.studies.recruiters import Cost, Matched, Posting, Recruiter
    from dialens.studies.store import Store, StudyRecord

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Post a study on Prolific or Mechanical Turk, and pay those who took part.",
)

Production = Annotated[
    bool,
    typer.Option("--production", help="Mechanical Turk itself, not its sandbox: people are paid."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before money is spent.")]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="A compatible server instead of the platform's, for tests.",
    ),
]
Places = Annotated[
    int | None,
    typer.Option("--places", min=1, help="Participants; as many as the cells want if not given."),
]
WorkIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="[WORK]...", help="Assignments or submissions, as `status` lists them."),
]


@app.command("estimate")
def estimate(study: StudyPath, places: Places = None, db: DatabaseOption = None) -> None:
    """Show what a study will cost with the platform's fees; the platform is not contacted.

    [bold]Examples[/]

      dialens study recruit estimate anchoring
      dialens study recruit estimate anchoring --places 9
    """
    loaded = as_run(study, db)
    from dialens.studies.design import MTurkRecruiter

    settings = loaded.design.recruiter
    production = isinstance(settings, MTurkRecruiter) and not settings.sandbox
    recruiter = _recruiter(loaded, production=production, endpoint=None)
    print(f"{loaded.design.title} on {recruiter.name}: {_cost(recruiter, loaded, places)}")


@app.command("create")
def create(
    study: StudyPath,
    url: Annotated[
        str, typer.Option("--url", help="Where the study is served: https://study.example.org/")
    ],
    places: Places = None,
    batch: Annotated[
        int,
        typer.Option(
            "--batch", min=1, help="Number of the posting: 2, 3, … posts the study again."
        ),
    ] = 1,
    publish: Annotated[
        bool,
        typer.Option("--publish", help="Prolific: publish the study; otherwise it stays a draft."),
    ] = False,
    db: DatabaseOption = None,
    production: Production = False,
    endpoint: Endpoint = None,
    yes: Yes = False,
    unfinished: Unfinished = False,
) -> None:
    """Post a study; the cost is shown first and has to be confirmed.

    Running it again posts nothing twice: a batch that is posted already is found. A study file
    that still says PLEASE FILL IN is refused, since participants would read it.

    [bold]Examples[/]

      dialens study recruit create anchoring --url https://study.example.org/
      dialens study recruit create anchoring --url https://study.example.org/ --production
      dialens study recruit create anchoring --url https://study.example.org/ --publish
    """
    if not unfinished:
        with studies_extra():
            from dialens.studies import check_finished
        check_finished(study)
    loaded = as_run(study, db)
    recruiter = _recruiter(loaded, production=production, endpoint=endpoint)
    cost = _cost(recruiter, loaded, places)
    for earlier in recruiter.postings(loaded):
        print(f"Posted before: {earlier.id}, {earlier.places} places, {earlier.state}.")
    print(f"{loaded.design.title} on {recruiter.name}: {cost}")
    _agree("Post it?", yes=yes)
    posting = recruiter.create(loaded, url, cost.people, batch=batch)
    if publish:
        recruiter.publish(posting.id)
    print(f"{posting.id}: {posting.places} places, participants go to {posting.url}")
    if recruiter.name == "prolific" and not publish:
        print("It is a draft: look at it on Prolific, then run this again with --publish.")


@app.command("status")
def status(
    study: StudyPath,
    db: DatabaseOption = None,
    production: Production = False,
    endpoint: Endpoint = None,
) -> None:
    """List what is posted, what people handed in, and whether they completed the study.

    People go by their pseudonyms.

    [bold]Examples[/]

      dialens study recruit status anchoring
      dialens study recruit status anchoring --production
    """
    with recorded_study(study, db) as (store, record):
        recruiter, taken = _recorded(record, production=production, endpoint=endpoint)
        postings = recruiter.postings(taken)
        matched = _matched(store, record, recruiter, postings)
    table = plain_table("posting", "state", numbers=("places", "free", "at work", "done"))
    for posted in postings:
        counts = (posted.places, posted.free, posted.pending, posted.done)
        table.add_row(posted.id, posted.state, *map(str, counts))
    plain_console().print(table if postings else "Nothing is posted.")
    for state, count in sorted(Counter(entry.work.state for entry in matched).items()):
        print(f"{count:,} {state}")
    for entry in matched:
        if entry.work.state != "unfinished":
            note = entry.doubt or "completed"
            print(f"  {entry.work.id}  {entry.work.state}  {entry.participant or '—'}: {note}")


@app.command("approve")
def approve(
    study: StudyPath,
    work: WorkIds = None,
    db: DatabaseOption = None,
    production: Production = False,
    endpoint: Endpoint = None,
    yes: Yes = False,
) -> None:
    """Approve, and so pay, those who completed the study; the rest is listed and left alone.

    Work that is named is approved whatever the database says.

    [bold]Examples[/]

      dialens study recruit approve anchoring
      dialens study recruit approve anchoring 3ABCDEF --production
    """
    with studies_extra():
        from dialens.studies.store import OperationStore
    with recorded_study(study, db) as (store, record):
        recruiter, taken = _recorded(record, production=production, endpoint=endpoint)
        matched = _matched(store, record, recruiter, recruiter.postings(taken))
        chosen = _named(matched, work) if work else [entry for entry in matched if entry.payable]
        if not work:
            for entry in matched:
                if entry.work.state == "submitted" and entry.doubt:
                    print(f"! {entry.work.id} needs your decision: {entry.doubt}.")
        if not chosen:
            print("There is nothing to approve.")
            return
        print(f"Approve {len(chosen)}: {_rewards(recruiter, taken, len(chosen))}")
        _agree("Pay them?", yes=yes)
        paid = OperationStore(store, "command")
        with progress("Approving", total=len(chosen), unit="people") as advance:
            for entry in chosen:
                recruiter.approve(entry.work)
                if entry.participant is not None:
                    paid.mark_paid(entry.participant, now=datetime.now(UTC))
                advance(1)
    print(f"Approved {len(chosen)}.")


@app.command("reject")
def reject(
    study: StudyPath,
    work: Annotated[str, typer.Argument(metavar="WORK", help="One assignment or submission.")],
    reason: Annotated[str, typer.Option("--reason", help="What the person will read.")],
    category: Annotated[
        str | None, typer.Option("--category", help="Prolific's category, e.g. FAILED_CHECK.")
    ] = None,
    db: DatabaseOption = None,
    production: Production = False,
    endpoint: Endpoint = None,
    yes: Yes = False,
) -> None:
    """Refuse to pay one person. It harms their standing: nothing is rejected automatically.

    [bold]Examples[/]

      dialens study recruit reject anchoring 3ABCDEF --reason "All answers are the same number."
    """
    if not reason.strip():
        raise DialensError("A rejection needs a reason, which the person reads.")
    with recorded_study(study, db) as (store, record):
        recruiter, taken = _recorded(record, production=production, endpoint=endpoint)
        matched = _matched(store, record, recruiter, recruiter.postings(taken))
    entry = _named(matched, [work])[0]
    if entry.work.state != "submitted":
        raise DialensError(f"{work} cannot be rejected: it is {entry.work.state}.")
    if entry.completed:
        print(f"! {entry.participant} completed the study.")
    _agree(f"Reject {work}?", yes=yes)
    recruiter.reject(entry.work, reason.strip(), category=category)
    print(f"Rejected {work}.")


@app.command("bonus")
def bonus(
    study: StudyPath,
    work: WorkIds = None,
    amount: Annotated[
        str, typer.Option("--amount", help="Amount for each person, e.g. 0.50.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", help="What the person will read.")] = "",
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Pay whose bonus was begun before and is not shown by the platform: look there "
            "first.",
        ),
    ] = False,
    db: DatabaseOption = None,
    production: Production = False,
    endpoint: Endpoint = None,
    yes: Yes = False,
) -> None:
    """Pay a bonus, to those named or to all who completed and are approved.

    People are named by their work, pseudonym or completion code. Whoever already got a bonus of
    this amount is skipped. A bonus is written down before it is paid: one whose answer got lost is
    named, and paid only with --again.

    [bold]Examples[/]

      dialens study recruit bonus anchoring --amount 0.50 --reason "It took longer than we said."
    """
    each = _amount(amount)
    if not reason.strip():
        raise DialensError("A bonus needs a --reason, which the person reads.")
    with studies_extra():
        from dialens.studies.recruiters import bonuses_due, pay_bonuses
        from dialens.studies.store import OperationStore, PaymentStore
    with recorded_study(study, db) as (store, record):
        recruiter, taken = _recorded(record, production=production, endpoint=endpoint)
        matched = _matched(store, record, recruiter, recruiter.postings(taken))
        chosen_ids = [work_of(store, matched, name) for name in work or ()]
        able = [entry for entry in matched if entry.work.state == "approved" and not entry.doubt]
        chosen = _named(matched, chosen_ids) if work else able
        payments = PaymentStore(OperationStore(store, "command"), recruiter.name)
        due = bonuses_due(payments, taken.hash, chosen, each)
        unsure = {one.work for one in due.unsure} if again else set()
        works = [*due.works, *(entry for entry in chosen if entry.work.id in unsure)]
        if due.got:
            print(f"{len(due.got)} got a bonus of {each} before and are skipped.")
        for one in due.unsure:
            do = "is paid again" if again else f"look at {recruiter.name}, then pay it with --again"
            print(f"! {one.work} may not have got its bonus ({one}): {do}.")
        if not works:
            print("There is nobody to pay.")
            return
        print(f"Bonus: {recruiter.bonus_cost(taken, each, len(works))}")
        _agree("Pay them?", yes=yes)
        for name in unsure:
            payments.release(taken.hash, name, each, now=datetime.now(UTC))
        pay_bonuses(
            payments,
            recruiter,
            taken,
            works,
            each,
            reason.strip(),
            clock=lambda: datetime.now(UTC),
        )
    print(f"Paid {len(works)}.")


@app.command("expire")
def expire(
    study: StudyPath,
    posting: Annotated[
        str | None, typer.Argument(help="Posting to close; default: all postings of the study.")
    ] = None,
    production: Production = False,
    endpoint: Endpoint = None,
) -> None:
    """Close a posting: nobody new can start, who has begun may finish.

    [bold]Examples[/]

      dialens study recruit expire anchoring
    """
    loaded = _load(study)
    recruiter = _recruiter(loaded, production=production, endpoint=endpoint)
    chosen = [posting] if posting else [entry.id for entry in recruiter.postings(loaded)]
    for entry in chosen:
        recruiter.expire(entry)
        print(f"{entry} takes nobody new.")
    if not chosen:
        print("Nothing is posted.")


@app.command("delete")
def delete(
    study: StudyPath,
    posting: Annotated[str, typer.Argument(help="The HIT, or the draft on Prolific.")],
    production: Production = False,
    endpoint: Endpoint = None,
) -> None:
    """Remove a posting; the study's own data stay. Platforms refuse while work is unsettled.

    [bold]Examples[/]

      dialens study recruit delete anchoring 3XYZ
    """
    recruiter = _recruiter(_load(study), production=production, endpoint=endpoint)
    recruiter.delete(posting)
    print(f"{posting} is deleted.")


def _load(study: StudyPath) -> "Study":
    with studies_extra():
        from dialens.studies import load_study
    return load_study(study)


def _recruiter(study: "Study", *, production: bool, endpoint: str | None) -> "Recruiter":
    with studies_extra():
        from dialens.studies.recruiters import recruiter_of
    return recruiter_of(study, os.environ, production=production, endpoint=endpoint)


def _recorded(
    record: "StudyRecord", *, production: bool, endpoint: str | None
) -> tuple["Recruiter", "Study"]:
    """The study as people took it, and its recruiter."""
    taken = record.study
    return _recruiter(taken, production=production, endpoint=endpoint), taken


def _cost(recruiter: "Recruiter", study: "Study", places: int | None) -> "Cost":
    return recruiter.estimate(study, places or sum(study.targets.values()))


def _rewards(recruiter: "Recruiter", study: "Study", people: int) -> str:
    """What is paid out now; fees were agreed to for all places together."""
    cost = recruiter.estimate(study, people)
    return f"{people} × {cost.each} = {people * cost.each} {cost.currency}, and the fees on it"


def _matched(
    store: "Store", record: "StudyRecord", recruiter: "Recruiter", postings: Sequence["Posting"]
) -> tuple["Matched", ...]:
    from dialens.studies.recruiters import match

    works = [work for posting in postings for work in recruiter.work(posting.id)]
    return match(store, record.hash, recruiter.name, works)


def _named(matched: Sequence["Matched"], names: Sequence[str]) -> list["Matched"]:
    by_id = {entry.work.id: entry for entry in matched}
    for name in names:
        if name not in by_id:
            raise DialensError(
                f"Nobody handed in {name!r} for this study. {did_you_mean(name, by_id)}"
                "`dialens study recruit status` lists what there is."
            )
    return [by_id[name] for name in dict.fromkeys(names)]


def _amount(text: str) -> Decimal:
    from dialens.studies.recruiters import money

    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0:
        raise DialensError(f"--amount is what each person gets, e.g. 0.50; seen: {text!r}.")
    return money(amount)


def _agree(question: str, *, yes: bool) -> None:
    if not yes:
        typer.confirm(question, abort=True)
