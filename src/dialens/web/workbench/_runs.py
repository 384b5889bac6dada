"""The page of runs: start a command, see how far it is, and read what one would type."""

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException
from fastapi.responses import JSONResponse, RedirectResponse, Response

from dialens.base import DialensError, duration
from dialens.web.workbench._desk import Desk, address
from dialens.workbench import COMMANDS, Item, StartedRun

_HERE = "/runs"
_SIZES = ("default", "small", "base", "none")


def routes(desk: Desk) -> APIRouter:
    """The page, its form, and how far a run is."""
    router = APIRouter()
    runs = desk.workbench.runs

    @router.get(_HERE)
    def page(sorry: str = "") -> Response:
        desk.workbench.look()
        catalogue = desk.workbench.catalogue
        made = [item for item in catalogue.items if item.command]
        made.sort(key=lambda item: item.made.timestamp() if item.made else 0.0, reverse=True)
        return desk.render(
            "runs",
            here=_HERE,
            answer=_answer(runs.running, made),
            sorry=sorry,
            running=runs.running,
            started=list(reversed(runs.all)),
            results={run.number: _result(desk, run) for run in runs.all},
            rated=[item for item in catalogue.of("corpus") if item.counts.get("ratings")],
            last=duration,
            made=made,
            corpora=catalogue.of("corpus"),
            scores=catalogue.of("scores"),
            sizes=_SIZES,
            free={command: _free(desk, command) for command in COMMANDS},
        )

    @router.post("/runs/start")
    def start(
        command: Annotated[str, Form(max_length=20)],
        name: Annotated[str, Form(max_length=200)],
        read: Annotated[list[str] | None, Form()] = None,
        scores: Annotated[str, Form(max_length=1_000)] = "",
        models: Annotated[str, Form(max_length=20)] = "",
        metrics: Annotated[str, Form(max_length=2_000)] = "",
        baseline: Annotated[str, Form(max_length=500)] = "",
    ) -> Response:
        options = []
        if models and models in _SIZES and models != "default":
            options += ["--models", models]
        if metrics.strip():
            options += ["--metrics", ",".join(metrics.replace(",", " ").split())]
        if baseline.strip():
            options += ["--baseline", baseline.strip()]
        inputs = [desk.item(one).path for one in [*(read or ()), scores] if one]
        if not inputs:
            raise HTTPException(400, "Choose what to read first.")
        try:
            runs.start(command, inputs, options, name)
        except DialensError as error:
            return page(str(error))
        return RedirectResponse(_HERE, 303)

    @router.post("/runs/stop")
    def stop(number: Annotated[int, Form()]) -> Response:
        runs.stop(number)
        return RedirectResponse(_HERE, 303)

    @router.get("/api/runs")
    def state() -> Response:
        run = runs.running or (runs.all[-1] if runs.all else None)
        return JSONResponse(None if run is None else _as_json(run))

    return router


def _result(desk: Desk, run: StartedRun) -> str:
    """Where the result of a finished run is shown; empty if there is none."""
    items = desk.workbench.catalogue.items
    found = next((item for item in items if item.path == run.output), None)
    if run.state != "done" or found is None:
        return ""
    if found.kind == "comparison":
        return address("/comparison", name=found.name)
    if found.kind == "scores":
        return "/conversations"
    return address(f"/reports/{found.name}") if found.report else "/"


def _as_json(run: StartedRun) -> dict[str, object]:
    return {
        "number": run.number,
        "state": run.state,
        "what": run.what,
        "share": run.share,
        "seconds": run.seconds,
        "lines": list(run.lines)[-40:],
    }


def _answer(running: StartedRun | None, made: list[Item]) -> str:
    if running is not None:
        return f"{running.shown} is running, for {duration(running.seconds)} now."
    if not made:
        return "Nothing was made of these conversations yet. Begin with their scores."
    return f"Nothing is running. The last result is {made[0].name}: {made[0].title}."


def _free(desk: Desk, command: str) -> str:
    """A name for the next folder of a command."""
    stem = {"score": "scores", "compare": "comparison", "validate": "validation"}[command]
    names = [stem, *(f"{stem}-{number}" for number in range(2, 1_000))]
    return next((n for n in names if not (desk.workbench.folder / n).exists()), stem)
