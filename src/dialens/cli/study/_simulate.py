"""`dialens study simulate`: participants whose biases are known take a study."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import DialensError, counted, did, progress
from dialens.cli._options import Seed, shown
from dialens.cli.study._database import DatabaseOption, StudyPath
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies import Study
    from dialens.studies.simulation import Population

SIMULATED = "simulated.db"
"""The file beside the study file where simulated participants go: not among people's answers."""

_PASSWORD = "DIALENS_STUDY_PASSWORD"
_OUTCOMES = {
    "completed": "completed",
    "screened_out": "were screened out",
    "failed_comprehension": "failed the comprehension questions",
    "withdrawn": "withdrew",
    "left": "left on the way",
    "declined": "did not consent",
    "full": "found no place free",
    "blocked": "were not let back in",
    "expired": "took too long",
}


def simulate(
    study: StudyPath,
    participants: Annotated[
        int, typer.Option("--participants", "-n", min=1, help="Number of simulated participants.")
    ] = 40,
    anchor_pull: Annotated[
        list[str] | None,
        typer.Option(
            "--anchor-pull",
            metavar="SHARE | KIND=SHARE",
            help="How far the anchor moves a rating: 0 not at all, 1 all the way (0.3 if not "
            "given); textual=0.1 for one kind of anchor.",
        ),
    ] = None,
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT=POINTS",
            help="Points (of 100) by which opinions of an agent are better; may be repeated.",
        ),
    ] = None,
    agent_spread: Annotated[
        float,
        typer.Option(min=0, help="Standard deviation of opinions between agents, each quality."),
    ] = 8.0,
    layout_effect: Annotated[
        float,
        typer.Option(help="Points added where each quality is asked on a screen of its own."),
    ] = 0.0,
    deadline_effect: Annotated[float, typer.Option(help="Points added under a deadline.")] = 0.0,
    first_place: Annotated[
        float, typer.Option(help="Points added to the response that stands first of several.")
    ] = 0.0,
    length_effect: Annotated[
        float, typer.Option(help="Points added for each doubling of a response's length.")
    ] = 0.0,
    tag_effect: Annotated[
        list[str] | None,
        typer.Option(
            "--tag-effect",
            metavar="LEVEL=POINTS",
            help="Points added to responses with a tag (a level of the factor `tag`); may be "
            "repeated.",
        ),
    ] = None,
    noise: Annotated[float, typer.Option(min=0, help="Standard deviation of ratings.")] = 10.0,
    scale_spread: Annotated[
        float,
        typer.Option(min=0, help="How much participants differ in the size of their numbers."),
    ] = 0.15,
    dropout: Annotated[
        float, typer.Option(min=0, max=1, help="Share of participants who drop out.")
    ] = 0.0,
    speeders: Annotated[
        float, typer.Option(min=0, max=1, help="Share of participants who click through.")
    ] = 0.0,
    inattentive: Annotated[
        float, typer.Option(min=0, max=1, help="Share of participants who do not read.")
    ] = 0.0,
    add: Annotated[
        bool, typer.Option("--add", help="Add to the participants of an earlier simulation.")
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Delete simulated.db first; refused if it holds answers of people."
        ),
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Take part through a running server (`dialens study serve`) instead.",
        ),
    ] = None,
    at_once: Annotated[
        int, typer.Option(min=1, max=1000, help="With --http: participants at the same time.")
    ] = 8,
    pace: Annotated[
        float,
        typer.Option(
            min=0, help="With --http: speed; 1 takes as long as a person, 0 does not wait."
        ),
    ] = 0.0,
    db: DatabaseOption = None,
    seed: Seed = 0,
) -> None:
    """Try a study with simulated participants whose biases are known.

    Afterwards `study analyze` shows whether the design finds these biases again. Opinions go from
    0 (worst) to 100 (as good as the standard). Answers are stored in simulated.db beside the study
    file, or where --db says; a database with answers of people is refused. Every row is marked
    `simulated`, and so is the report.

    Run again, the command resumes an interrupted simulation; with a larger --participants it adds
    the rest. Another seed, other options or a changed study file are refused: --fresh starts over,
    --add puts participants with another seed or other options beside the earlier ones.

    With --http they take part through a running server, which marks them as simulated if
    DIALENS_STUDY_PASSWORD holds the researcher's password. Do not use a server that people use:
    simulated participants take up places.

    [bold]Examples[/]

      dialens study simulate anchoring --participants 77 --anchor-pull 0.3
      dialens study simulate anchoring -n 80 --anchor-pull 0 --layout-effect 8 --dropout 0.1
      dialens study simulate anchoring --anchor-pull numerical=0.3 --anchor-pull textual=0.1
      dialens study simulate three-bots -n 63 --prefer thred=20 --agent-spread 0
      dialens study simulate judge-bias --first-place 6 --length-effect 4 --tag-effect ai=-8
      dialens study simulate anchoring --http http://127.0.0.1:8000 -n 20 --at-once 20
      dialens study analyze anchoring
    """
    with studies_extra():
        from dialens.studies import load_study
        from dialens.studies.simulation import Population
    loaded = load_study(study)
    own, pulls = _pulls(anchor_pull)
    people = Population(
        anchor_pull=own,
        pulls=pulls,
        preferences=_preferences(prefer, loaded),
        agent_spread=agent_spread,
        layout_effect=layout_effect,
        deadline_effect=deadline_effect,
        first_place=first_place,
        length_effect=length_effect,
        tags=_tag_effects(tag_effect, loaded),
        noise=noise,
        scale_spread=scale_spread,
        dropout=dropout,
        speeders=speeders,
        inattentive=inattentive,
    )
    if http is not None:
        if db is not None or add or fresh:
            raise DialensError(
                "With --http the server has the database: leave out --db, --add and --fresh."
            )
        with studies_extra():
            from dialens.studies import simulate_over_http
        with progress("Simulating", total=participants, unit="participants") as advance:
            went = simulate_over_http(
                http,
                loaded,
                people,
                participants=participants,
                password=os.environ.get(_PASSWORD, ""),
                seed=seed,
                at_once=at_once,
                pace=pace,
                advance=advance,
            )
        _print(went.outcomes, people, went.known)
        print(f"{went.submissions:,} screens submitted, {went.requests:,} requests.")
        return
    with studies_extra():
        from dialens.studies.simulation import simulate_study
        from dialens.studies.store import Store
    if fresh:
        _delete_simulation(study, db)
    url = db or f"sqlite:///{simulated_database(study)}"
    with (
        _changes_explained(),
        Store.open(url) as store,
        progress("Simulating", total=participants, unit="participants") as advance,
    ):
        done = simulate_study(
            store,
            loaded,
            people,
            participants=participants,
            seed=seed,
            now=datetime.now(UTC),
            add=add,
            advance=advance,
        )
    _print(done.outcomes, people, done.known)
    if done.outcomes.get("full"):
        places = sum(loaded.targets.values())
        print(f"The study has {places:,} places (`targets` in the study file).")
    where = shown(simulated_database(study)) if db is None else "the database"
    option = "" if db is None else f" --db {db}"
    print(f"{where} holds their answers. Next: dialens study analyze {study}{option}")


def simulated_database(study: Path) -> Path:
    """Where simulated answers are stored if --db is not given."""
    from dialens.studies import study_file

    return study_file(study).parent / SIMULATED


@contextmanager
def _changes_explained() -> Iterator[None]:
    from dialens.studies.store import StudyChanged

    try:
        yield
    except StudyChanged as error:
        raise DialensError(
            "The study file was changed after the last simulation. Start over with --fresh, or "
            "give the study a new version."
        ) from error


def _delete_simulation(study: Path, db: str | None) -> None:
    """Remove an earlier simulation, and make sure that it is one."""
    from dialens.studies import SIMULATED as KIND
    from dialens.studies import attendance
    from dialens.studies.store import Store

    if db is not None:
        raise DialensError("--fresh deletes simulated.db and no other database: leave out --db.")
    path = simulated_database(study)
    if not path.exists():
        return
    with Store.open(f"sqlite:///{path}", create=False) as store:
        kinds = {kind for record in store.studies() for kind in attendance(store, record.hash)}
    if kinds - {KIND}:
        raise DialensError(f"{path} holds answers of others than simulated participants.")
    for suffix in ("", "-wal", "-shm", ".key"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def put_in(people: "Population") -> str:
    """What moves simulated participants, in one line.

    Examples:
        >>> from dialens.studies.simulation import Population
        >>> put_in(Population(layout_effect=8, dropout=0.1))
        'anchor pull 0.3, layout effect 8, spread of agents 8, noise 10, spread of scales 0.15, \
10 % drop out'
    """
    parts = [f"anchor pull {people.anchor_pull:g}"]
    parts += [f"{kind} anchor {value:g}" for kind, value in people.pulls.items()]
    for name, value in (
        ("layout effect", people.layout_effect),
        ("deadline effect", people.deadline_effect),
        ("first place", people.first_place),
        ("doubled length", people.length_effect),
        *((f"tag {level}", points) for level, points in people.tags.items()),
    ):
        parts += [f"{name} {value:g}"] if value else []
    parts += [f"{name} {value:+g}" for name, value in people.preferences.items()]
    parts += [f"spread of agents {people.agent_spread:g}"]
    parts += [f"noise {people.noise:g}", f"spread of scales {people.scale_spread:g}"]
    shares = (
        ("drop out", people.dropout),
        ("speeders", people.speeders),
        ("inattentive", people.inattentive),
    )
    return ", ".join(
        [*parts, *(f"{share:.0%} {name}".replace("%", " %") for name, share in shares if share)]
    )


def _print(outcomes: dict[str, int], people: "Population", known: int) -> None:
    counts = ", ".join(
        f"{count:,} {did(count, _OUTCOMES[name])}" for name, count in outcomes.items()
    )
    print(f"{counted(sum(outcomes.values()), 'simulated participant')} came: {counts}.")
    if known:
        print(f"{known:,} of them had been through before.")
    print(f"Put in: {put_in(people)}.")


def _preferences(entries: list[str] | None, study: "Study") -> dict[str, float]:
    """`--prefer AGENT=POINTS`, for agents that the study has."""
    talks = study.design.conversations
    agents = {one.agent for item in study.items for one in item.candidates}
    agents |= {one.name for one in talks.agents} if talks is not None else set()
    return _points(entries, "--prefer", "AGENT", sorted(agents))


def _tag_effects(entries: list[str] | None, study: "Study") -> dict[str, float]:
    """`--tag-effect LEVEL=POINTS`, for levels of the study's factor `tag`."""
    factor = study.design.factors.get("tag")
    if entries and factor is None:
        raise DialensError("--tag-effect: the study has no factor `tag`.")
    levels = [level.name for level in factor.levels if level.note] if factor else []
    return _points(entries, "--tag-effect", "LEVEL", levels)


def _points(
    entries: list[str] | None, option: str, what: str, known: list[str]
) -> dict[str, float]:
    found = {}
    for entry in entries or []:
        name, _, text = entry.rpartition("=")
        if name not in known:
            raise DialensError(
                f"{option} takes {what}=POINTS with one of {', '.join(known)}; seen: {entry!r}."
            )
        try:
            found[name] = float(text)
        except ValueError as error:
            raise DialensError(f"{option} takes {what}=POINTS; seen: {entry!r}.") from error
    return found


def _pulls(entries: list[str] | None) -> tuple[float, dict[str, float]]:
    """`--anchor-pull` as one number for all anchors and others by kind.

    Examples:
        >>> _pulls(["0.2", "textual=0.1"]), _pulls(None)
        ((0.2, {'textual': 0.1}), (0.3, {}))
    """
    own, pulls = 0.3, {}
    for entry in entries or []:
        kind, equals, text = entry.rpartition("=")
        try:
            value = float(text)
        except ValueError as error:
            raise DialensError(
                f"--anchor-pull takes a share such as 0.3, or KIND=SHARE; seen: {entry!r}."
            ) from error
        if equals:
            pulls[kind.strip()] = value
        else:
            own = value
    return own, pulls
