// The list of screens, the frame that shows one of them, and what the check says.
"use strict";

(() => {
  const home = document.body.dataset.home, editable = "editable" in document.body.dataset;
  const EVERY_MS = 500;
  const byId = (id) => document.getElementById(id);
  const frame = byId("frame"), sheet = byId("sheet"), list = byId("screens");
  const asked = new URLSearchParams(location.search);
  const at = {
    cell: asked.get("cell") ?? "",
    seed: Number(asked.get("seed") ?? 0),
    screen: asked.get("screen") ?? "welcome",
    language: asked.get("language") ?? "",
    wave: Number(asked.get("wave") ?? 1),
    width: asked.get("width") ?? (innerWidth < 600 ? "phone" : "desktop"),
    theme: asked.get("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
  };
  let screens = [], stamp = "", taking = false, returnTo = 0;

  const note = (text) => { byId("note").textContent = text; };
  const getJson = async (path, query) => {
    const answer = await fetch(`${home}/${path}?${new URLSearchParams(query)}`);
    if (answer.status === 204) return null;
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.detail);
    return told;
  };

  // The address keeps the place, so that a reload leads to it.
  const remember = () => {
    const kept = new URLSearchParams(at);
    history.replaceState(null, "", `${home}?${kept}`);
  };

  const place = () => screens.findIndex((screen) => screen.id === at.screen);
  const addressOf = (screen) =>
    `${home}/screen?${new URLSearchParams({ cell: at.cell, seed: at.seed, language: at.language, wave: at.wave, screen })}`;

  const mark = () => {
    const here = place();
    list.querySelectorAll("button").forEach((button, number) => {
      button.removeAttribute("aria-current");
      if (number === here && !taking) {
        button.setAttribute("aria-current", "true");
        const box = button.parentElement;
        if (box.offsetTop < list.scrollTop || box.offsetTop + box.offsetHeight > list.scrollTop + list.clientHeight)
          list.scrollTop = box.offsetTop - list.clientHeight / 2;
      }
    });
    byId("back").disabled = taking || here <= 0;
    byId("next").disabled = taking || here < 0 || here === screens.length - 1;
    const screen = screens[here];
    byId("where").textContent = taking ? "You take the study; nothing is stored." : screen ? `${here + 1} of ${screens.length}: ${screen.id}` : "";
    remember();
  };

  const show = (screen, { top = 0 } = {}) => {
    at.screen = screen;
    returnTo = top;
    frame.contentWindow.location.replace(addressOf(screen));
    mark();
  };

  const listed = (screen) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    for (const [name, text] of [["label", screen.label], ["kind", screen.kind], ["mark", screen.mark]]) {
      if (!text) continue;
      const part = document.createElement("span");
      part.className = name;
      part.textContent = text;
      button.append(part, " ");
    }
    button.addEventListener("click", () => { leave(); show(screen.id); });
    item.append(button);
    return item;
  };

  // The same cell and screen as before, as far as they are still there.
  const refresh = async () => {
    const before = Math.max(place(), 0);
    let told;
    try {
      told = await getJson("outline", { cell: at.cell, seed: at.seed, language: at.language, wave: at.wave });
    } catch (error) {
      sheet.classList.add("empty");
      note(error.message);
      return;
    }
    sheet.classList.remove("empty");
    if (!taking) note(editable ? "" : "Nothing that is entered here is recorded.");
    document.title = `Preview · ${told.title}`;
    document.querySelector("[data-title]").textContent = told.title;
    at.cell = told.cell;
    screens = told.screens;
    byId("cell").replaceChildren(...told.cells.map((name) => new Option(name, name, false, name === told.cell)));
    const spoken = byId("language");
    spoken.replaceChildren(...told.languages.map((name) => new Option(name, name, false, name === at.language)));
    spoken.parentElement.hidden = told.languages.length < 2;
    at.wave = told.wave;
    const waves = byId("wave");
    waves.replaceChildren(...told.waves.map((name, number) => new Option(name, number + 1, false, number + 1 === at.wave)));
    waves.parentElement.hidden = told.waves.length < 2;
    list.replaceChildren(...screens.map(listed));
    if (place() < 0) at.screen = screens[Math.min(before, screens.length - 1)].id;
    if (taking) {
      note("The study has changed. Press “Stop taking it” and begin again to take the new version.");
      mark();
    } else {
      show(at.screen, { top: frame.contentWindow.scrollY });
    }
  };

  // The page's own style sheet, as if the system were in the other mode.
  const written = new WeakMap();
  const shade = () => {
    const page = frame.contentDocument, dark = at.theme === "dark";
    if (!page?.documentElement) return; // on its way: it is shaded when it has come
    const shaded = (owner) => {
      const asked = written.get(owner) ?? owner.media.mediaText;
      const wanted = asked.match(/prefers-color-scheme:\s*(\w+)/)?.[1];
      if (!wanted) return;
      written.set(owner, asked);
      owner.media.mediaText = (wanted === "dark") === dark ? "all" : "not all";
    };
    for (const sheet of page.styleSheets) {
      shaded(sheet);
      for (const rule of sheet.cssRules) if (rule instanceof frame.contentWindow.CSSMediaRule) shaded(rule);
    }
    page.documentElement.style.removeProperty("color-scheme");
    const scheme = frame.contentWindow.getComputedStyle(page.documentElement).colorScheme;
    if (scheme.includes("light") && scheme.includes("dark")) page.documentElement.style.colorScheme = at.theme;
  };

  frame.addEventListener("load", () => {
    shade();
    const now = new URL(frame.contentWindow.location.href);
    frame.contentWindow.scrollTo(0, returnTo);
    returnTo = 0;
    if (taking || now.pathname !== `${home}/screen`) return;
    const screen = now.searchParams.get("screen");
    if (screen !== at.screen) { at.screen = screen; mark(); }
  });

  const step = (by) => show(screens[Math.min(Math.max(place() + by, 0), screens.length - 1)].id);
  byId("back").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("cell").addEventListener("change", (event) => { leave(); at.cell = event.target.value; refresh(); });
  byId("language").addEventListener("change", (event) => { leave(); at.language = event.target.value; refresh(); });
  byId("wave").addEventListener("change", (event) => { leave(); at.wave = Number(event.target.value); refresh(); });
  byId("seed").addEventListener("change", (event) => {
    if (!event.target.checkValidity() || event.target.value === "") return;
    leave();
    at.seed = Number(event.target.value);
    refresh();
  });

  const fit = () => {
    const wide = at.width === "phone" ? 390 : 1100;
    const room = byId("stage").clientWidth - (at.width === "phone" ? 18 : 2);
    sheet.style.setProperty("--scale", String(Math.min(1, room / wide)));
  };
  const choose = (name, value) => {
    at[name] = value;
    for (const button of document.querySelectorAll(`[data-${name}]`))
      button.setAttribute("aria-pressed", String(button.dataset[name] === value));
    sheet.classList.toggle("phone", at.width === "phone");
    shade();
    fit();
    remember();
  };
  for (const name of ["width", "theme"])
    for (const button of document.querySelectorAll(`[data-${name}]`))
      button.addEventListener("click", () => choose(name, button.dataset[name]));
  new ResizeObserver(fit).observe(byId("stage"));

  const leave = () => {
    if (!taking) return;
    taking = false;
    byId("take").textContent = "Take it yourself";
    note("");
  };
  const take = async () => {
    if (taking) { leave(); show("welcome"); return; }
    const answer = await fetch(`${home}/take`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ cell: at.cell, seed: at.seed, language: at.language }),
    });
    const told = await answer.json();
    if (!answer.ok) { note(told.detail); return; }
    taking = true;
    byId("take").textContent = "Stop taking it";
    frame.contentWindow.location.replace(told.address);
    note("");
    mark();
  };

  const problem = (told, kind) => {
    const item = document.createElement("li");
    item.className = kind;
    if (told.line) {
      const line = document.createElement("span");
      line.className = "line";
      line.textContent = `Line ${told.line}: `;
      item.append(line);
    }
    item.append(told.message);
    if (told.where.length) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `Edit ${told.where.join(".")}`;
      button.addEventListener("click", () => { edit(true); editor.goTo(told.where); });
      item.append(button);
    }
    return item;
  };
  const report = (told) => {
    byId("summary").textContent = told.summary;
    const all = document.createElement("ul");
    all.append(...told.errors.map((one) => problem(one, "error")), ...told.warnings.map((one) => problem(one, "warning")));
    const box = byId("problems");
    box.replaceChildren();
    if (told.errors.length) {
      const lead = document.createElement("p");
      lead.textContent = told.shown ? "The study file is not valid; you see its last valid version." : "The study file is not valid yet.";
      box.append(lead);
    }
    if (all.children.length) box.append(all);
    else box.append("Nothing to complain about.");
    editor.report(told);
  };

  const edit = (open) => {
    byId("editor").hidden = !open;
    byId("edit").setAttribute("aria-expanded", String(open));
    document.querySelector(".author-main").classList.toggle("editing", open);
    if (open) editor.open();
  };

  // Whoever saves the file, here or in an editor, sees it here within a second.
  const watch = async () => {
    if (!document.hidden) {
      try {
        const told = await getJson("state", { stamp });
        if (told) {
          const first = !stamp;
          stamp = told.stamp;
          report(told);
          if (!told.errors.length || first) await refresh();
          if (!first) editor.changed();
        }
      } catch {
        note("The preview does not answer. Is `dialens study preview` still running?");
        stamp = "";
      }
    }
    setTimeout(watch, EVERY_MS);
  };

  byId("seed").value = at.seed;
  choose("width", at.width);
  choose("theme", at.theme);
  if (editable) {
    byId("take").addEventListener("click", take);
    byId("edit").addEventListener("click", () => edit(byId("editor").hidden));
    watch();
  } else {
    refresh();
  }
})();
