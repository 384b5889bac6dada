"use strict";
const SHOWN_ROWS = 20;

function startTables() {
  for (const table of document.querySelectorAll("table:has(thead button)")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    fold(table, body);
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (button) button.addEventListener("click", () => {
        const first = button.dataset.sort === "text" ? "ascending" : "descending";
        const second = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? second : first;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        sortRows(body, column, button.dataset.sort, order === "ascending" ? 1 : -1);
        fold(table, body);
      });
    });
  }
  startScrollers();
  startHints();
}

/* Rows without a value stay last, whichever way the others go. */
function sortRows(body, column, kind, sign) {
  const key = (row) => {
    const text = row.cells[column].dataset.value;
    return text === undefined || kind === "text" ? text : Number(text);
  };
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => {
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    return sign * (kind === "text" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
  });
  body.append(...rows.map(([, row]) => row));
}

/* Hundreds of agents: the first twenty in the present order, the rest on demand. */
function fold(table, body) {
  const rows = [...body.rows];
  const all = table.dataset.all === "yes" || rows.length <= SHOWN_ROWS + 3;
  rows.forEach((row, number) => { row.hidden = !all && number >= SHOWN_ROWS; });
  const scroller = table.closest(".scroller");
  let more = scroller.nextElementSibling;
  if (rows.length <= SHOWN_ROWS + 3) return;
  if (!more || !more.classList.contains("more")) {
    more = make("p", { class: "more" }, make("button", { type: "button" }));
    scroller.after(more);
    more.firstChild.addEventListener("click", () => {
      table.dataset.all = table.dataset.all === "yes" ? "no" : "yes";
      fold(table, body);
    });
  }
  more.firstChild.textContent = all ? `Show the first ${SHOWN_ROWS} only` : `Show all ${rows.length} rows`;
}

/* A table that goes on to the right says so, and fades there until its end is reached. */
function startScrollers() {
  for (const scroller of document.querySelectorAll(".scroller:has(> table[id])")) {
    const cue = make("p", { class: "cue", "aria-hidden": "true" }, "There is more: scroll the table sideways \u2192");
    scroller.before(cue);
    const look = () => {
      const beyond = scroller.scrollWidth - scroller.clientWidth;
      cue.hidden = beyond < 4;
      scroller.classList.toggle("more-right", beyond - scroller.scrollLeft > 4);
    };
    scroller.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(scroller);
    look();
  }
}

function startHints() {
  const hint = document.getElementById("hint");
  const show = (event) => {
    const source = event.target.closest && event.target.closest("[data-why]");
    if (!source) { hint.hidden = true; return; }
    hint.textContent = source.dataset.why;
    hint.hidden = false;
    const box = source.getBoundingClientRect();
    const left = Math.min(box.left, innerWidth - hint.offsetWidth - 8);
    const below = box.bottom + 6 + hint.offsetHeight < innerHeight;
    hint.style.left = `${Math.max(8, left)}px`;
    hint.style.top = `${below ? box.bottom + 6 : box.top - hint.offsetHeight - 6}px`;
  };
  for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, show);
  document.addEventListener("focusout", () => { hint.hidden = true; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hint.hidden = true; });
  addEventListener("scroll", () => { hint.hidden = true; }, { passive: true });
}
