"""`dialens study serve`: a study in the browser."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import DialensError
from dialens.cli._keys import Allow, allow, say_keys
from dialens.cli.study._database import DatabaseOption, Unfinished, database_of
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies import Study
    from dialens.studies.store import Store, StudyRecord

_EVERYWHERE = ("0.0.0.0", "::", "")


def serve(
    studies: Annotated[
        list[Path],
        typer.Argument(
            metavar="STUDY...", help="A study file, or the folder that holds it; or several."
        ),
    ],
    db: DatabaseOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 for other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen at.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Server processes.")] = 1,
    password_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the password of the researcher's pages; if not given, "
            "DIALENS_STUDY_PASSWORD, or else a new one that is printed."
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address or network of a reverse proxy, trusted for https and the client's "
            "address; several with commas between them.",
        ),
    ] = None,
    root: Annotated[
        str,
        typer.Option(
            "--root-path",
            metavar="PATH",
            help="Where a proxy puts the study, if not at the top of its host: /warmth.",
        ),
    ] = "",
    per_address: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="How many people may begin from one address within ten minutes; 0 for any number.",
        ),
    ] = 100,
    log: Annotated[bool, typer.Option("--log", help="Print every request.")] = False,
    unfinished: Unfinished = False,
    allowed: Allow = None,
) -> None:
    """Serve a study in the browser, with a page for the researcher to follow it.

    Participants start at the address itself, researchers at /researcher. Each answer is on disk
    before it is acknowledged: the server may be stopped, killed and started again at any time.
    A study file that still says PLEASE FILL IN is refused, since participants would read it.
    Several studies are served below their names, with a list of them at /researcher and one
    password for all; participants find no way from one to another.

    [bold]Examples[/]

      dialens study serve anchoring
      dialens study serve anchoring --host 0.0.0.0 --port 80 --workers 2
      dialens study serve anchoring --db postgresql://study@localhost/ratings --proxy 127.0.0.1
      dialens study serve warmth --root-path /warmth --proxy 127.0.0.1
      dialens study serve anchoring warmth
    """
    with studies_extra():
        from dialens.web import check_names, password_from, root_path
        from dialens.web import serve as run
    allow(allowed)
    password, made_up = password_from(os.environ)
    if password_file is not None:
        password, made_up = _read(password_file), False
    below = root_path(root)
    # Mistakes in the files or the databases are reported here, before any process starts.
    served = [(study, database_of(study, db)) for study in studies]
    loaded = [_ready(study, url, unfinished=unfinished) for study, url in served]
    if len(loaded) > 1:
        check_names([one.name for one in loaded])

    def say_where(listening_at: int, most: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{'127.0.0.1' if host in _EVERYWHERE else shown}:{listening_at}{below}"
        _say_addresses(loaded, address)
        if made_up:
            print(f"  password      {password}")
        for line in _cautions(host, proxy, most):
            print(f"! {line}")
        print("Stop with Ctrl-C; nothing is lost.", flush=True)

    run(
        served,
        password=password,
        host=host,
        port=port,
        workers=workers,
        root=below,
        proxies=proxy,
        per_address=per_address,
        quiet=not log,
        on_listening=say_where,
    )


def _cautions(host: str, proxy: str | None, most: int) -> Iterator[str]:
    """What a researcher should know of the server before it is open to others."""
    from dialens.web import MOST_CONNECTIONS, is_loopback

    if proxy is None and not is_loopback(host):
        yield (
            "Other machines reach this server without encryption: password, cookies and answers "
            "can be read on the way. Put a proxy with TLS in front, and name it: --proxy ADDRESS."
        )
    if most < MOST_CONNECTIONS:
        yield (
            f"The limit on open files leaves room for {most:,} connections a process; raise it "
            f"(ulimit -n, or LimitNOFILE= in a service) for {MOST_CONNECTIONS:,}."
        )


def _say_addresses(studies: Sequence["Study"], address: str) -> None:
    """Where participants and researchers find one study, or several."""
    from dialens.studies.recruiters import entrance_guard

    several = len(studies) > 1
    for one in studies:
        own = f"{address}/{one.name}/" if several else f"{address}/"
        print(f"{one.design.title} ({one.name}, version {one.design.version})")
        print(f"  participants  {own}{_parameters(one)}")
        print(f"  {entrance_guard(one.design).replace('Entrance:', 'entrance     ')}")
    if several:
        print("All of them")
    print(f"  researchers   {address}/researcher")


def _ready(study: Path, url: str, *, unfinished: bool) -> "Study":
    """Open everything that serving a study needs, and say where it differs from its file."""
    from dialens.studies import check_finished, load_study, study_file
    from dialens.studies.store import Store, StoreUnavailable
    from dialens.web import open_agents, unreachable_agents, unserved_versions

    loaded = load_study(study)
    if not unfinished:
        check_finished(study)
    agents = open_agents(loaded, study_file(study).parent)
    say_keys(agents.values())
    for line in unreachable_agents(agents):
        print(f"! {line}")
    with Store.open(url) as store:
        store.database.check()
        try:
            store.database.try_writing()
        except StoreUnavailable as error:
            raise DialensError(
                f"{url.rpartition('@')[2]}: nothing can be written there, so no answer could be "
                f"stored. {error} Check the rights of the file and its folder, and that the file "
                "system is neither full nor read-only."
            ) from error
        record = store.register(loaded, now=datetime.now(UTC))
        for line in unserved_versions(store, loaded, study_file(study).parent):
            print(f"! {line}")
        for line in (*_run_otherwise(loaded, record), *_changed_before(store, record)):
            print(f"! {line}")
    return record.study


def _run_otherwise(loaded: "Study", record: "StudyRecord") -> Iterator[str]:
    """Where the study is run otherwise than its file says, since somebody changed it meanwhile."""
    from dialens.studies import NOTES, named, operation_values

    said, holds = operation_values(loaded.design), operation_values(record.study.design)
    for place in dict.fromkeys((*said, *holds)):
        if place[0] not in NOTES and said.get(place) != holds.get(place):
            yield (
                f"{named(place)} is {holds.get(place)}, changed while people took part; the file "
                f"says {said.get(place)}."
            )


def _changed_before(store: "Store", record: "StudyRecord") -> Iterator[str]:
    """What was changed in the version before and holds no more, until somebody has begun this."""
    from dialens.studies import NOTES, attendance, named, operation_values
    from dialens.studies.store import OperationStore

    earlier = [
        one
        for one in store.studies()
        if one.name == record.name and int(one.version) < int(record.version)
    ]
    if not earlier or attendance(store, record.hash):
        return
    before = max(earlier, key=lambda one: int(one.version))
    changed = set(OperationStore(store, "command").changes_frame(before.hash)["what"])
    try:
        was = operation_values(before.study.design)
    except (DialensError, ValueError, KeyError, TypeError):  # it cannot be read; that is said above
        return
    now = operation_values(record.study.design)
    for place, value in was.items():
        if place[0] not in NOTES and named(place) in changed and now.get(place) != value:
            yield (
                f"{named(place)} was {value} in version {before.version}, changed while people "
                f"took part; version {record.version} follows its file: {now.get(place)}."
            )


def _parameters(study: "Study") -> str:
    """What the recruiter adds to the address of participants, where it has to."""
    from dialens.studies.recruiters import INVITATION, by_invitation, recruiters

    if by_invitation(study.design):
        return f"?{INVITATION}=…"
    settings = study.design.recruiter
    kind = recruiters()[settings.kind]
    names = kind.names(settings)
    return "?" + "&".join(f"{name}=…" for name in names) if kind.entrance else ""


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DialensError(f"{path}: the password cannot be read ({error}).") from error
