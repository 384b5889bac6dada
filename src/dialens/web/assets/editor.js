// Edits the study file by a form: every change is written at once, and can be undone.
"use strict";

const editor = (() => {
  const home = document.body.dataset.home;
  const byId = (id) => document.getElementById(id);
  const FEW = 60; // texts that can be undone
  const expanded = new Set(["[]", '["title"]']), before = [];
  let form = null, schema = null, known = null, problems = { errors: [], warnings: [] }, busy = Promise.resolve();

  const ask = async (path, options = {}) => {
    const answer = await fetch(`${home}/${path}`, options);
    const told = await answer.json();
    if (answer.ok) return told;
    throw Object.assign(new Error(told.detail), { status: answer.status });
  };
  const send = (method, path, body) => ask(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const said = (text) => { byId("saved").textContent = text; };
  const clock = () => new Date().toLocaleTimeString();

  const conflict = (message) => {
    byId("conflict").hidden = false;
    byId("conflict").querySelector("p").textContent = message;
    byId("conflict").querySelector("button").focus();
  };
  const failed = (error) => {
    if (error.status === 409) conflict(error.message);
    else said(`Not written: ${error.message}`);
  };
  // The form shows again what the file says, with the refusal where the change was made.
  const refused = (error, at) => {
    failed(error);
    if (error.status === 409) return;
    draw();
    const says = saysOf(nearest(at));
    says?.append(Object.assign(document.createElement("p"), { className: "error", role: "alert", textContent: `Not written: ${error.message}` }));
    says?.scrollIntoView({ block: "nearest" });
  };

  const wrote = (document, last) => {
    before.push(last);
    if (before.length > FEW) before.shift();
    byId("undo").disabled = false;
    known = document;
    said(`Written at ${clock()}.`);
  };

  // One after the other: each builds on the text that the one before has written.
  const change = (made, { redraw = false, missing = false, focus = null } = {}) => {
    if (missing) return;
    busy = busy.then(async () => {
      const last = known.text;
      try {
        wrote(await send("POST", "changes", { before: known.hash, changes: [made] }), last);
        if (redraw) draw();
        if (focus) goTo(focus);
      } catch (error) {
        refused(error, made.at);
      }
    });
  };

  const replace = async (text, { undo = false } = {}) => {
    const last = known.text;
    try {
      const document = await send("PUT", "document", { before: known.hash, text });
      if (undo) { known = document; said(`Undone at ${clock()}.`); } else wrote(document, last);
      draw();
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  };

  const undo = async () => {
    const text = before.pop();
    if (text !== undefined && !(await replace(text, { undo: true }))) before.push(text);
    byId("undo").disabled = !before.length;
  };

  const readYaml = async (at) => {
    try {
      return (await ask(`fragment?${new URLSearchParams({ at: JSON.stringify(at) })}`)).yaml;
    } catch {
      return "";
    }
  };
  const opened = (key, open) => { if (open) expanded.add(key); else expanded.delete(key); };

  const wholeText = () => {
    const details = document.createElement("details"), summary = document.createElement("summary");
    summary.textContent = "The whole file, as text";
    details.dataset.at = '"text"';
    const inside = document.createElement("div"), label = document.createElement("label");
    inside.className = "inside";
    label.textContent = "Study file";
    label.htmlFor = "f-text";
    const area = Object.assign(document.createElement("textarea"), { id: "f-text", className: "yaml", spellcheck: false, value: known.text });
    const save = Object.assign(document.createElement("button"), { type: "button", className: "button", textContent: "Write the text" });
    save.addEventListener("click", () => { busy = busy.then(() => replace(area.value)); });
    inside.append(label, area, save);
    details.append(summary, inside);
    details.fill = () => {};
    details.addEventListener("toggle", () => opened('"text"', details.open));
    details.open = known.data === null || expanded.has('"text"');
    return details;
  };

  const general = (parts) => {
    const details = document.createElement("details"), summary = document.createElement("summary"), inside = document.createElement("div");
    summary.textContent = "General";
    inside.className = "inside";
    inside.append(...parts);
    details.dataset.at = "[]";
    details.fill = () => {};
    details.append(summary, inside);
    details.addEventListener("toggle", () => opened("[]", details.open));
    return details;
  };

  const reopen = (within) => {
    for (const details of within.querySelectorAll("details")) {
      if (!expanded.has(details.dataset.at) || details.open) continue;
      details.fill();
      details.open = true;
      reopen(details);
    }
  };

  const draw = () => {
    const focused = document.activeElement?.id, top = scrollY;
    const parts = [], small = [];
    if (known.data !== null) {
      for (const [key, part] of Object.entries(schema.properties)) {
        const value = known.data[key], required = schema.required.includes(key);
        const made = form.field(part, value, [key], form.words(key), required);
        (made.tagName === "DETAILS" ? parts : small).push(made);
      }
      small.sort((one, other) => (one.dataset.at === '["title"]' ? -1 : other.dataset.at === '["title"]' ? 1 : 0));
      parts.unshift(general(small));
    }
    byId("form").replaceChildren(...parts, wholeText());
    reopen(byId("form"));
    mark();
    scrollTo(0, top);
    if (focused) byId(focused)?.focus({ preventScroll: true });
  };

  // The messages of the check stand beside the fields they are about, or the nearest around them.
  const nearest = (where) => {
    for (let length = where.length; length > 0; length -= 1) {
      const key = JSON.stringify(where.slice(0, length));
      const found = [...byId("form").querySelectorAll("[data-at]")].find((one) => one.dataset.at === key);
      if (found) return found;
    }
    return null;
  };
  const saysOf = (place) => place?.querySelector(":scope > .says, :scope > .inside > .says");
  const mark = () => {
    for (const says of byId("form").querySelectorAll(".says")) says.replaceChildren();
    for (const count of byId("form").querySelectorAll("summary .count")) count.remove();
    for (const input of byId("form").querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    for (const [kind, list] of [["error", problems.errors], ["warned", problems.warnings]]) {
      for (const { message, where } of list) {
        const place = nearest(where);
        if (!place) continue;
        saysOf(place)?.append(Object.assign(document.createElement("p"), { className: kind, textContent: message }));
        if (kind === "error") place.querySelector(":scope > input, :scope > textarea, :scope > select")?.setAttribute("aria-invalid", "true");
        for (let details = place.closest("details"); details; details = details.parentElement.closest("details")) {
          const summary = details.querySelector(":scope > summary");
          if (!summary.querySelector(".count")) summary.append(Object.assign(document.createElement("span"), { className: "count", textContent: " – look here" }));
        }
      }
    }
  };

  const goTo = (where) => {
    for (let length = 0; length <= where.length; length += 1) {
      const key = JSON.stringify(where.slice(0, length));
      const details = [...byId("form").querySelectorAll("details")].find((one) => one.dataset.at === key);
      if (!details || (length === 0 && where.length > 1)) continue;
      details.fill();
      details.open = true;
    }
    mark();
    const place = nearest(where);
    if (!place) return;
    const target = place.querySelector("input, textarea, select") ?? place.querySelector("summary");
    place.scrollIntoView({ block: "nearest" });
    target?.focus();
  };

  const load = async () => {
    try {
      schema ??= await ask("schema");
      form ??= schemaForm(schema, { change, opened, readYaml });
      known = await ask("document");
      draw();
      byId("conflict").hidden = true;
    } catch (error) {
      said(error.message);
    }
  };

  const dirty = () => {
    const active = document.activeElement;
    return active && byId("form").contains(active) && active.value !== undefined && active.matches("input, textarea") && active.dataset.touched;
  };

  if (byId("editor")) {
    byId("undo").addEventListener("click", () => { busy = busy.then(undo); });
    byId("conflict").querySelector("button").addEventListener("click", () => { busy = busy.then(load); });
    byId("form").addEventListener("input", (event) => { event.target.dataset.touched = "yes"; });
    byId("form").addEventListener("change", (event) => { delete event.target.dataset.touched; });
  }

  return {
    goTo: (where) => { busy = busy.then(() => (known ? null : load())).then(() => goTo(where)); },
    open: () => { if (!known) busy = busy.then(load); },
    report: (told) => { problems = told; if (known) mark(); },
    // The file was saved elsewhere: the form follows, unless somebody is typing in it.
    changed: () => {
      if (!known || dirty()) return;
      busy = busy.then(async () => {
        const now = await ask("document").catch(() => null);
        if (!now || now.hash === known.hash || dirty()) return;
        known = now;
        byId("conflict").hidden = true;
        said(`The file was changed elsewhere; read again at ${clock()}.`);
        draw();
      });
    },
  };
})();
