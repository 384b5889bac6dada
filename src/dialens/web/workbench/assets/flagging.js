// Flags and notes, wherever turns or conversations are shown.
//
// A page calls `flagging(root)`. Units are the elements below `root` with `data-unit`, `data-source`,
// `data-dialog` and `data-turn` (-1: the whole conversation), `data-own` (own flags: "1,3") and
// `data-note` (own note), and a `tabindex`. The current unit is the one that has the focus, or had it
// last: keys 1 to 9 flag it (again: take the flag away), 0 takes all away, a point writes a note.
// What is stored is shown in the unit's `[data-marks]` (chips and notes, as the macro `marks` of
// turn_parts.html.j2 makes them) or, in a table, in `[data-flags]` (numbers of all coders) and
// `[data-notes]`; and the unit gets the event `dialens:flagged` with the server's answer as detail.
// The macro `palette` stands once on the page: buttons, the note's field and what is said of success
// and failure. It is moved into the current unit, unless that is a row of a table.
// `moved` is called with the unit that becomes current. Returns `{ units, current, choose, step }`.
import { keys } from "./keys.js";

async function post(path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST", keepalive: true, body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", Accept: "application/json" },
    });
  } catch {
    throw new Error("The workbench does not answer. Is it still running in the terminal?");
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.detail ?? `The workbench answered ${answer.status}.`);
  return said;
}

export function flagging(root, { moved = () => {} } = {}) {
  const palette = document.querySelector("[data-palette]");
  const form = palette.querySelector("[data-note-form]");
  const field = form.querySelector("textarea");
  const writing = palette.querySelector("[data-write]");
  const said = document.querySelector("[data-flag-said]");
  const failed = document.querySelector("[data-flag-failed]");
  const drafts = new Map(); // notes that are not stored, by unit
  const waiting = new Map(); // the last request of a unit: one after the other
  let current = null;
  let quiet = 0;

  const units = () => [...root.querySelectorAll("[data-unit]")];
  const own = (unit) => (unit.dataset.own ? unit.dataset.own.split(",").map(Number) : []);
  const name = (unit) => (unit.dataset.turn === "-1" ? "the conversation" : `turn ${unit.dataset.turn}`);
  const body = (unit) => ({ source: unit.dataset.source, dialog: unit.dataset.dialog, turn: Number(unit.dataset.turn) });

  function press() {
    const set = own(current);
    for (const button of palette.querySelectorAll("[data-code]")) {
      button.setAttribute("aria-pressed", String(set.includes(Number(button.dataset.code))));
    }
    writing.setAttribute("aria-expanded", String(!form.hidden));
  }

  function choose(unit, { focus = true } = {}) {
    if (!unit) return;
    if (unit !== current) {
      leave();
      if (current) { delete current.dataset.current; current.tabIndex = -1; }
      current = unit;
      current.dataset.current = "";
      current.tabIndex = 0;
      if (!unit.closest("table")) (unit.querySelector("[data-palette-place]") ?? unit).append(palette);
      palette.hidden = false;
      if (drafts.has(unit)) open(); else press();
      moved(unit);
    }
    if (focus) {
      unit.focus({ preventScroll: true });
      unit.scrollIntoView({ block: "nearest" });
    }
  }

  function step(by, among = units()) {
    const at = among.indexOf(current);
    choose(among[at < 0 ? 0 : Math.max(0, Math.min(among.length - 1, at + by))]);
  }

  function show(unit, stored) {
    unit.dataset.own = stored.own.join(",");
    unit.dataset.note = stored.note;
    const marks = unit.querySelector("[data-marks]");
    if (marks) marks.innerHTML = stored.html; // made and escaped by the server
    const all = Object.values(stored.others);
    const flags = unit.querySelector("[data-flags]");
    if (flags) flags.textContent = [...new Set([...stored.own, ...all.flatMap((one) => one.flags)])].sort().join(", ");
    const notes = unit.querySelector("[data-notes]");
    if (notes) notes.textContent = [stored.note, ...all.map((one) => one.note)].filter(Boolean).join("\n");
    unit.dispatchEvent(new CustomEvent("dialens:flagged", { bubbles: true, detail: stored }));
  }

  function tell(words) {
    clearTimeout(quiet);
    said.textContent = words;
    quiet = setTimeout(() => { said.textContent = ""; }, 2500);
  }

  /* One request of a unit after the other, so that the last key pressed is what is stored. */
  function send(unit, path, more, words) {
    const sent = (waiting.get(unit) ?? Promise.resolve()).then(async () => {
      try {
        const stored = await post(path, { ...body(unit), ...more() });
        show(unit, stored);
        failed.textContent = "";
        tell(words());
        return true;
      } catch (error) {
        said.textContent = "";
        failed.textContent = `Not stored, ${name(unit)}: ${error.message}`;
        return false;
      } finally {
        if (unit === current) press();
      }
    });
    waiting.set(unit, sent);
    return sent;
  }

  function flag(code) {
    if (!current) return;
    const unit = current;
    let on = false;
    send(unit, "/api/flag",
      () => ({ code, on: (on = code > 0 && !own(unit).includes(code)) }),
      () => (code === 0 ? `No flags on ${name(unit)}.` : `Flag ${code} ${on ? "set on" : "taken from"} ${name(unit)}.`));
  }

  function open() {
    if (!current) return;
    field.value = drafts.get(current) ?? current.dataset.note ?? "";
    form.hidden = false;
    press();
    field.focus();
  }

  function close() {
    form.hidden = true;
    press();
  }

  async function store(unit, text) {
    drafts.set(unit, text);
    const done = await send(unit, "/api/note", () => ({ note: text }), () => `Note on ${name(unit)} stored.`);
    if (done && drafts.get(unit) === text) drafts.delete(unit);
    return done;
  }

  /* Whoever goes on has written enough: the note is stored; if it cannot be, it is kept for later. */
  function leave() {
    if (form.hidden || !current) return;
    const unit = current, text = field.value;
    form.hidden = true;
    if (text.trim() !== (unit.dataset.note ?? "")) store(unit, text); else drafts.delete(unit);
  }

  async function save() {
    const unit = current;
    if (await store(unit, field.value) && unit === current) { close(); unit.focus({ preventScroll: true }); }
  }

  palette.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.code) flag(Number(button.dataset.code));
    else if (button === writing) { if (form.hidden) open(); else leave(), press(); }
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); save(); });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); }
    if (event.key === "Escape") { event.preventDefault(); drafts.delete(current); close(); current.focus({ preventScroll: true }); }
  });
  root.addEventListener("focusin", (event) => choose(event.target.closest("[data-unit]"), { focus: false }));
  root.addEventListener("click", (event) => choose(event.target.closest("[data-unit]"), { focus: false }));
  addEventListener("beforeunload", (event) => {
    const open = !form.hidden && current && field.value.trim() !== (current.dataset.note ?? "");
    // Whoever leaves has written enough, too; the request outlives the page.
    if (open) post("/api/note", { ...body(current), note: field.value }).catch(() => {});
    if ([...drafts.keys()].some((unit) => unit !== current || !open)) event.preventDefault();
  });

  const meaning = (code) => palette.querySelector(`[data-code="${code}"] bdi`)?.textContent ?? "";
  keys({
    ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((code) =>
      [code, [`Flag ${meaning(code) || code}; again to take it away`, () => flag(code)]])),
    0: ["Take all my flags away", () => flag(0)],
    ".": ["Write a note", open],
  });
  return { units, current: () => current, choose, step };
}
