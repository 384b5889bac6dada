"use strict";
const LENSES = {
  emotion: "Emotion words", style: "Function words", content: "Content words", question: "Questions",
};
const CONTENT = 2, QUESTION = 4;
const phone = matchMedia("(max-width: 760px)");

function startTalks() {
  const place = document.querySelector(".talks");
  if (!place || !page.talks) return;
  const talks = page.talks;
  const list = place.querySelector("[data-items]");
  const article = place.querySelector("[data-talk]");
  const filters = Object.fromEntries(
    [...place.querySelectorAll("[data-filter]")].map((input) => [input.dataset.filter, input]));
  const lenses = Object.keys(talks.lenses);
  const state = { lens: lenses[0] || "none", only: null, tags: false, open: null, shown: [] };

  talks.sortMetrics.forEach(({ label }, number) => {
    filters.order.append(
      make("option", { value: `${number}:-1` }, `${label}, highest first`),
      make("option", { value: `${number}:1` }, `${label}, lowest first`));
  });

  const format = (name, value) => {
    if (value === null || value === undefined) return "–";
    const { percent, decimals } = page.formats[name] || { percent: false, decimals: 2 };
    if (Number.isInteger(value) && !percent && Math.abs(value) > 1) return String(value);
    const text = (percent ? value * 100 : value).toFixed(percent ? 0 : decimals).replace(/^-(?=[0.]*$)/, "");
    return text.replace("-", "\u2212") + (percent ? "\u2009%" : "");
  };
  const heaviest = Math.max(1e-9, ...talks.words.flatMap(([, emotions]) => Object.values(emotions).map(Math.abs)));
  const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const textOf = (dialog) => {
    dialog.lower ??= `${dialog.id}\n${dialog.turns.map((turn) => turn.text).join("\n")}`.toLowerCase();
    return dialog.lower;
  };

  /* The list */
  function fill() {
    const agent = filters.agent.value;
    const search = filters.search.value.trim().toLowerCase();
    const [metric, sign] = filters.order.value ? filters.order.value.split(":").map(Number) : [0, 0];
    let numbers = talks.dialogs.map((_, number) => number).filter((number) => {
      const dialog = talks.dialogs[number];
      return (agent === "" || dialog.agent === Number(agent)) && (!search || textOf(dialog).includes(search));
    });
    const value = (number) => talks.dialogs[number].values[metric];
    if (sign) numbers.sort((a, b) => (value(a) === null) - (value(b) === null) || sign * (value(a) - value(b)) || a - b);
    state.shown = numbers;
    list.replaceChildren(...numbers.map((number) => item(number, sign ? metric : null)));
    const word = numbers.length === 1 ? "dialogue" : "dialogues";
    place.querySelector("[data-found]").textContent =
      numbers.length === talks.dialogs.length ? `${numbers.length} ${word}` : `${numbers.length} of ${talks.dialogs.length} dialogues`;
    mark();
  }

  function item(number, metric) {
    const dialog = talks.dialogs[number];
    const first = dialog.turns.find((turn) => turn.own) || dialog.turns[0] || { text: "" };
    const about = metric === null
      ? plural(dialog.turns.length + (dialog.more || 0), "turn")
      : format(talks.sortMetrics[metric].name, dialog.values[metric]);
    const button = make("button", { type: "button", class: "item", "data-number": number },
      make("span", { class: "name", dir: "auto", title: dialog.id }, ...(page.agents.length > 1
        ? [page.agents[dialog.agent], " ", make("small", { class: "soft" }, dialog.id)] : [dialog.id])),
      make("span", { class: "figure" }, about),
      make("span", { class: "start", dir: "auto" }, first.text.slice(0, 120) || "(says nothing)"));
    button.addEventListener("click", () => { open(number); enter(); });
    return make("li", null, button);
  }

  const buttonOf = (number) => list.querySelector(`[data-number="${number}"]`);
  function mark() {
    for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
    const button = buttonOf(state.open);
    if (button) button.setAttribute("aria-current", "true");
    for (const move of article.querySelectorAll("[data-move]")) {
      const at = state.shown.indexOf(state.open) + Number(move.dataset.move);
      move.disabled = at < 0 || at >= state.shown.length;
    }
  }

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    const button = event.target.closest(".item");
    if (!step || !button) return;
    event.preventDefault();
    const buttons = [...list.querySelectorAll(".item")];
    const at = Math.max(0, Math.min(buttons.length - 1, buttons.indexOf(button) + step));
    buttons[at].focus();
  });
  article.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
  });

  /* One dialogue */
  function enter() {
    /* On a phone the dialogue takes the list's place: going back has to lead to the list. */
    if (phone.matches && !place.classList.contains("reading")) history.pushState({ reading: true }, "");
    place.classList.add("reading");
    const heading = article.querySelector("h3");
    if (heading) { heading.focus({ preventScroll: true }); }
    const top = article.getBoundingClientRect().top;
    if (top < 0 || top > innerHeight * 0.6) article.scrollIntoView({ block: "start" });
  }
  function leave() {
    if (history.state && history.state.reading) { history.back(); return; }
    close();
  }
  addEventListener("popstate", (event) => {
    if (place.classList.contains("reading") && !(event.state && event.state.reading)) close();
  });
  function close() {
    place.classList.remove("reading");
    const button = buttonOf(state.open);
    if (button) button.focus();
  }

  function open(number) {
    const dialog = talks.dialogs[number];
    state.open = number;
    const move = (step, text, name) => {
      const button = make("button", { type: "button", class: "button", "data-move": step, "aria-label": name }, text);
      button.addEventListener("click", () => { open(state.shown[state.shown.indexOf(state.open) + step]); enter(); });
      return button;
    };
    const back = make("button", { type: "button", class: "button back" }, "All dialogues");
    back.addEventListener("click", leave);
    const sums = talks.sortMetrics.map(({ name, label }, index) =>
      make("span", null, `${label} `, make("b", null, format(name, dialog.values[index]))));
    article.replaceChildren(...[
      make("header", null,
        make("div", { class: "moves" }, back, move(-1, "\u2191", "Previous dialogue"), move(1, "\u2193", "Next dialogue")),
        make("h3", { tabindex: "-1", dir: "auto" }, dialog.id),
        page.agents.length > 1 ? make("p", { class: "soft small", dir: "auto", style: "margin:0" }, page.agents[dialog.agent]) : null,
        make("div", { class: "sums" }, ...sums)),
      lensChooser(), make("ol", { class: "turns" }),
      dialog.more ? make("p", { class: "empty" }, `${dialog.more} more turns are not shown.`) : null,
    ].filter(Boolean));
    turns();
    mark();
    history.replaceState(history.state, "", `#dialogue=${encodeURIComponent(dialog.id)}`);
  }

  function lensChooser() {
    const names = { ...Object.fromEntries(lenses.map((lens) => [lens, LENSES[lens]])), none: "Nothing" };
    const choices = Object.entries(names).map(([lens, text]) => {
      const input = make("input", { type: "radio", name: "lens", value: lens });
      input.checked = lens === state.lens;
      input.addEventListener("change", () => { state.lens = lens; state.only = null; legend(box); turns(); });
      return make("label", null, input, make("span", null, text));
    });
    const box = make("div", { class: "legend" });
    legend(box);
    return make("fieldset", { class: "lens" }, make("legend", null, "Mark"), make("div", { class: "choices" }, ...choices), box);
  }

  function legend(box) {
    const names = { emotion: talks.emotions, style: talks.styles }[state.lens];
    if (!names) {
      const text = { content: "Words of the agent that are not stop words.", question: "Question marks in the agent\u2019s turns.", none: "" }[state.lens];
      box.replaceChildren(make("p", null, text));
      return;
    }
    const buttons = names.map((name, index) => {
      const button = make("button", { type: "button", "aria-pressed": String(state.only === index), style: `--c:var(--c${index})`, title: "Mark only these" }, name);
      button.addEventListener("click", () => {
        state.only = state.only === index ? null : index;
        buttons.forEach((other, place) => other.setAttribute("aria-pressed", String(state.only === place)));
        turns();
      });
      return button;
    });
    const tags = make("input", { type: "checkbox" });
    tags.checked = state.tags;
    tags.addEventListener("change", () => { state.tags = tags.checked; article.classList.toggle("tags", state.tags); });
    box.replaceChildren(...buttons, make("label", null, tags, "name them in the text"));
  }

  /* What a word is under the lens that is chosen: a colour, a strength, a tag, a title; or nothing. */
  function look(word, own, all) {
    const [token, emotions, styles, flags] = word;
    const lens = talks.lenses[state.lens];
    if (!lens || (!own && !lens.partner)) return null;
    if (state.lens === "emotion") {
      const felt = Object.entries(emotions).map(([index, weight]) => [Number(index), weight])
        .filter(([, weight]) => all || Math.abs(weight) >= talks.least);
      if (!felt.length) return null;
      felt.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
      const [main, weight] = state.only === null ? felt[0] : felt.find(([index]) => index === state.only) || [];
      if (main === undefined) return null;
      const title = felt.map(([index, one]) => `${talks.emotions[index]} ${one}`).join(", ");
      return { colour: main, deep: 8 + 52 * Math.sqrt(Math.abs(weight) / heaviest), tag: talks.emotions[main], title: `${token}: ${title}` };
    }
    if (state.lens === "style") {
      if (!styles.length || (state.only !== null && !styles.includes(state.only))) return null;
      const main = state.only === null ? styles[0] : state.only;
      const title = styles.map((index) => talks.styles[index]).join(", ");
      return { colour: main, deep: 26, tag: title, title: `${token}: ${title}` };
    }
    if (state.lens === "content") return flags & CONTENT ? { colour: 5, deep: 22, tag: "", title: `${token}: content word` } : null;
    return flags & QUESTION ? { colour: 1, deep: 45, tag: "", title: "question mark" } : null;
  }

  function turns() {
    const dialog = talks.dialogs[state.open];
    article.classList.toggle("tags", state.tags);
    let before = null;
    article.querySelector(".turns").replaceChildren(...dialog.turns.map((turn) => {
      const same = before !== null && before.speaker === turn.speaker && before.own === turn.own;
      before = turn;
      const speaker = same ? null : make("div", { class: "speaker", dir: "auto" }, turn.speaker || (turn.own ? "agent" : "partner"));
      const row = make("li", { class: turn.own ? "turn own" : "turn" }, speaker, bubble(turn));
      if (turn.values) row.append(scores(turn));
      return row;
    }));
  }

  function bubble(turn) {
    const box = make("div", { class: "bubble", dir: "auto" });
    let at = 0;
    for (let i = 0; i < turn.tokens.length; i += 3) {
      const start = turn.tokens[i], end = start + turn.tokens[i + 1];
      const seen = look(talks.words[turn.tokens[i + 2]], turn.own);
      if (!seen) continue;
      box.append(turn.text.slice(at, start), make("mark", {
        style: `--c:var(--c${seen.colour % 9});--deep:${seen.deep.toFixed(0)}%`, title: seen.title, "data-tag": seen.tag || null,
      }, turn.text.slice(start, end)));
      at = end;
    }
    box.append(turn.text.slice(at) || (turn.text ? "" : "\u2003"));
    if (turn.cut) box.append(make("em", { class: "soft" }, ` \u2026 ${turn.cut} more characters`));
    return box;
  }

  const valueAt = (turn, index) => [turn.values[index], turn.why && turn.why[index] !== undefined ? talks.reasons[turn.why[index]] : ""];
  function said(turn, index) {
    const [value, why] = valueAt(turn, index);
    const { name, label } = talks.turnMetrics[index];
    return make("span", null, `${label.toLowerCase()} `, value === null ? `\u2013 (${why})` : make("b", null, format(name, value)));
  }

  function scores(turn) {
    const details = make("details");
    const summary = make("summary");
    const strip = (kind, values, size, label) => make("span", { class: kind, role: "img", "aria-label": label },
      ...values.map((value, index) => make("i", { style: `--c:var(--c${index});${size}:${(100 * (value || 0)).toFixed(1)}%`, title: `${(state.lens === "emotion" ? talks.emotions : talks.styles)[index]} ${value === null ? "\u2013" : value.toFixed(2)}` })));
    const { parts, wholes } = talks.lenses[state.lens] || { parts: [], wholes: [] };
    if (state.lens === "question") {
      if (wholes.length) summary.append(make("span", null, valueAt(turn, wholes[0])[0] ? "asks something" : "asks nothing"));
    } else {
      const values = parts.map((index) => valueAt(turn, index)[0]);
      if (values.some((value) => value !== null)) summary.append(state.lens === "emotion"
        ? strip("parts", values, "width", "Shares of the emotions")
        : strip("bars", values, "height", "Matching of the nine kinds"));
      summary.append(...wholes.map((index) => said(turn, index)));
    }
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(deep(turn));
    });
    return details;
  }

  /* Everything about one turn, and the words that counted. */
  function deep(turn) {
    const row = ({ name, label }, index) => {
      const why = turn.why && turn.why[index] !== undefined ? ` ${talks.reasons[turn.why[index]]}` : "";
      return make("div", null, make("dt", null, label), make("dd", null, format(name, turn.values[index]) + why));
    };
    const groups = new Map();
    talks.turnMetrics.forEach((metric, index) => {
      if (!groups.has(metric.group)) groups.set(metric.group, []);
      groups.get(metric.group).push(row(metric, index));
    });
    const first = groups.get("") || [];
    groups.delete("");
    const others = [...groups].map(([name, rows]) => make("details", null,
      make("summary", null, `${name} · ${rows.length}`), make("dl", null, ...rows)));
    const words = new Set();
    for (let i = 2; i < turn.tokens.length; i += 3) {
      const seen = look(talks.words[turn.tokens[i]], turn.own, true);
      if (seen) words.add(seen.title);
    }
    const counted = words.size ? make("p", { dir: "auto" }, `Counted: ${[...words].slice(0, 60).join("; ")}.`) : null;
    return make("div", { class: "deep" }, make("dl", null, ...first), ...others, counted);
  }

  /* Where everything comes together */
  for (const input of Object.values(filters)) {
    input.addEventListener("input", () => {
      fill();
      if (state.shown.length && !state.shown.includes(state.open)) open(state.shown[0]);
    });
  }
  for (const link of document.querySelectorAll("a[data-agent]")) {
    link.addEventListener("click", () => {
      filters.agent.value = link.dataset.agent;
      filters.search.value = "";
      place.classList.remove("reading");
      fill();
      if (state.shown.length) open(state.shown[0]);
      setTimeout(() => (list.querySelector(".item") || filters.agent).focus({ preventScroll: true }), 0);
    });
  }
  for (const link of document.querySelectorAll("a[data-dialog]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.dispatchEvent(new CustomEvent("dialens:open", { detail: link.dataset.dialog }));
    });
  }
  document.addEventListener("dialens:open", (event) => {
    const number = talks.dialogs.findIndex((dialog) => dialog.id === event.detail);
    if (number < 0) return;
    filters.agent.value = ""; filters.search.value = "";
    fill(); open(number); enter();
  });

  fill();
  const asked = location.hash.startsWith("#dialogue=") ? decodeURIComponent(location.hash.slice(10)) : null;
  const wanted = talks.dialogs.findIndex((dialog) => dialog.id === asked);
  if (!talks.dialogs.length) article.append(make("p", { class: "empty" }, "No dialogue is stored in this report."));
  else {
    const kept = location.hash;
    open(Math.max(0, wanted));
    if (wanted >= 0) enter();
    else history.replaceState(null, "", kept || location.pathname + location.search);
  }
}
