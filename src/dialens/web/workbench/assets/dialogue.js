// The page of one conversation: the keys, the turn in focus, scores when they are asked for.
import { keys } from "./keys.js";
import { flagging } from "./flagging.js";

const root = document.querySelector("[data-reading]");
const chart = document.querySelector("[data-turn-chart]");

function moved(unit) {
  const turn = unit.dataset.turn;
  const hash = turn === "-1" ? "" : `#t${turn}`;
  history.replaceState(history.state, "", `${location.pathname}${location.search}${hash}`);
  if (!chart) return;
  const line = chart.querySelector("[data-focus-line]");
  for (const dot of chart.querySelectorAll("[data-dot]")) dot.classList.toggle("current", dot.dataset.dot === turn);
  const { left, right, last } = chart.dataset;
  const place = Number(left) + ((right - left) * turn) / last;
  line.setAttribute("visibility", turn === "-1" ? "hidden" : "visible");
  for (const end of ["x1", "x2"]) line.setAttribute(end, place);
}

const flags = flagging(root, { moved });

async function fill(details) {
  const from = details.dataset.scores;
  if (!from || !details.open) return;
  delete details.dataset.scores;
  const place = details.querySelector("[data-place]");
  try {
    const answer = await fetch(from);
    if (!answer.ok) throw new Error();
    place.innerHTML = await answer.text(); // made and escaped by the server
  } catch {
    details.dataset.scores = from;
    place.textContent = "The workbench does not answer. Is it still running in the terminal?";
  }
}
root.addEventListener("toggle", (event) => {
  if (event.target.matches("details[data-scores]")) fill(event.target);
}, true);

const follow = (key) => () => document.querySelector(`[data-step="${key}"]`)?.click();
keys({
  j: ["Next turn", () => flags.step(1)],
  k: ["Previous turn", () => flags.step(-1)],
  n: ["Next of the table one came from", follow("n")],
  p: ["Previous of the table one came from", follow("p")],
  Enter: ["All scores of the turn", () => {
    const details = flags.current()?.querySelector("details.scores");
    if (details) details.open = !details.open;
  }],
});

/* The turn that the address names; one that is not on the page is asked for. */
function arrive() {
  const named = /^#t(\d+)$/.exec(location.hash)?.[1] ?? new URLSearchParams(location.search).get("turn");
  const unit = named === null ? null : root.querySelector(`[data-turn="${CSS.escape(named)}"]`);
  if (unit) { flags.choose(unit); unit.scrollIntoView({ block: "center" }); }
  else if (named !== null && location.hash) {
    const there = new URL(location.href);
    if (there.searchParams.get("turn") !== named) { there.searchParams.set("turn", named); location.replace(there); }
  } else flags.choose(root.querySelector("li[data-unit]"), { focus: false });
}
addEventListener("hashchange", arrive);
arrive();

/* Who changes what is marked or drawn stays at the turn. */
root.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-keeps-place]");
  if (link) link.hash = location.hash;
});
const form = document.querySelector("[data-metric-form]");
form.querySelector("[data-unscripted]").hidden = true;
form.addEventListener("change", () => {
  const there = new URL(form.action);
  there.search = new URLSearchParams(new FormData(form)).toString();
  there.hash = location.hash;
  location.assign(there);
});
