// How far a run is, asked for every second while there is one.
const run = document.querySelector("[data-run]");

async function look() {
  try {
    const answer = await fetch("/api/runs", { headers: { accept: "application/json" } });
    const state = answer.ok ? await answer.json() : null;
    if (!state || state.number !== Number(run.dataset.run) || state.state !== "running") {
      location.reload();
      return;
    }
    run.querySelector("[data-time]").textContent = `${Math.round(state.seconds)} s`;
    run.querySelector("[data-what]").textContent = state.what;
    run.querySelector("[data-lines]").textContent = state.lines.join("\n");
    const bar = run.querySelector("[data-share]");
    if (state.share === null) bar.removeAttribute("value");
    else bar.value = state.share;
  } catch {
    run.querySelector("[data-state]").textContent = "unknown: the workbench does not answer";
  }
  setTimeout(look, 1000);
}

if (run) setTimeout(look, 1000);
