"use strict";
const page = JSON.parse(document.getElementById("data").textContent);

/* Elements are made from text nodes only: nothing a user wrote is ever read as HTML. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

const narrow = matchMedia("(max-width: 560px)");
const drawn = new Map();
const WIDEST_TITLE = 30;
const WIDEST_NAME = 14;
const LETTER = 7.2;

async function draw(figure) {
  const choice = figure.querySelector("[data-choice]");
  const charts = page.figures[figure.dataset.figure] || {};
  const chart = charts[choice ? choice.value : ""];
  const place = figure.querySelector(".drawing");
  if (drawn.has(figure)) { drawn.get(figure).finalize(); drawn.delete(figure); }
  const canvas = place.firstElementChild;
  if (!chart) { canvas.textContent = "No dialogue here has a value for this."; return; }
  place.setAttribute("aria-label", chart.alt);
  figure.querySelector("figcaption").textContent = chart.note;
  const pick = figure.querySelector("[data-pick]");
  if (pick) pick.hidden = !chart.pick;
  numbers(figure, chart);
  const axisY = { ...page.config.axisY, labelLimit: narrow.matches ? 96 : 210 };
  const legend = { ...page.config.legend, ...fitting(chart.spec, place.clientWidth) };
  const spec = { ...(narrow.matches ? broken(chart.spec) : chart.spec), datasets: unpacked(chart.data) };
  const made = await vegaEmbed(canvas, spec, {
    actions: false, renderer: "svg", ast: true, config: { ...page.config, axisY, legend },
    tooltip: { disableDefaultStyle: false },
  });
  drawn.set(figure, made);
  if (pick && chart.pick) made.view.signal("pick", Number(pick.querySelector("select").value)).run();
  made.view.addEventListener("click", (event, item) => {
    const dialog = item && item.datum && item.datum.dialog;
    if (dialog !== undefined) document.dispatchEvent(new CustomEvent("dialens:open", { detail: dialog }));
  });
}

/* As many names beside each other in a legend as have room, so that none is cut. */
function fitting(spec, width) {
  let longest = 1;
  JSON.stringify(spec, (key, value) => {
    if (key === "domain" && Array.isArray(value)) {
      for (const name of value) if (typeof name === "string") longest = Math.max(longest, name.length);
    }
    return value;
  });
  return { columns: Math.max(1, Math.min(6, Math.floor(width / (LETTER * longest + 34)))), labelLimit: Math.max(60, width - 40) };
}

/* On a phone, long titles of axes and names of rows go on in a second line instead of being cut. */
function broken(spec) {
  return JSON.parse(JSON.stringify(spec), (key, value) => {
    if (key === "params" && Array.isArray(value)) {
      return value.map((one) => one.name === "names" ? { ...one, value: one.value.map((name) => lines(name, WIDEST_NAME)) } : one);
    }
    if (key !== "axis" || !value || typeof value.title !== "string") return value;
    return { ...value, title: lines(value.title, WIDEST_TITLE) };
  });
}

function lines(text, widest) {
  if (typeof text !== "string" || text.length <= widest) return text;
  const made = [""];
  for (const word of text.split(" ")) {
    const last = made[made.length - 1];
    if (last && last.length + word.length >= widest) made.push(word);
    else made[made.length - 1] = last ? `${last} ${word}` : word;
  }
  return made;
}

/* Rows travel without keys, and agents as numbers. */
function unpacked(data) {
  return Object.fromEntries(Object.entries(data).map(([name, { columns, rows }]) => [name, rows.map((row) => {
    const made = Object.fromEntries(columns.map((column, place) => [column, row[place]]));
    return "number" in made ? { ...made, agent: page.agents[made.number] } : made;
  })]));
}

function numbers(figure, chart) {
  const details = figure.querySelector(".behind");
  const fill = () => {
    if (!details.open) return;
    const head = make("tr", null, ...chart.columns.map((text) => text ? make("th", { scope: "col" }, text) : make("td")));
    const rows = chart.rows.map((row) => make("tr", null, ...row.map((value, column) =>
      column ? make("td", null, String(value)) : make("th", { scope: "row" }, String(value)))));
    details.querySelector(".scroller").replaceChildren(
      make("table", null, make("thead", null, head), make("tbody", null, ...rows)));
  };
  details.ontoggle = fill;
  fill();
}

function startFigures() {
  for (const figure of document.querySelectorAll("[data-figure]")) {
    const choice = figure.querySelector("[data-choice]");
    if (choice) choice.addEventListener("change", () => draw(figure));
    const pick = figure.querySelector("[data-pick] select");
    if (pick) pick.addEventListener("change", () => {
      const made = drawn.get(figure);
      if (made) made.view.signal("pick", Number(pick.value)).run();
    });
    const fold = figure.closest("details.fold");
    if (!fold || fold.open) draw(figure);
    else fold.addEventListener("toggle", () => draw(figure), { once: true });
  }
  narrow.addEventListener("change", () => { for (const figure of [...drawn.keys()]) draw(figure); });
}
