// The page comes again by itself, and is changed only where it differs: what somebody selected,
// scrolled to, typed or opened stays as it is.
"use strict";

const EVERY_MS = 15000;
const PATIENCE_MS = 10000;
const GIVE_UP_MS = 120000;
const SILENT = "The server does not answer: the figures are old. Trying again.";
const live = document.querySelector("main[data-live]") !== null;
let asked = 0;
let waiting, refreshing = false;

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
    const shown = time.dataset.show === "second"
      ? at.toLocaleTimeString([], { ...clock, second: "2-digit" })
      : at.toLocaleString([], { ...clock, year: "numeric", month: "short", day: "numeric" });
    time.textContent = shown;
  }
}

function sameAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function sameRows(old, fresh) {
  const wanted = new Set([...fresh.children].map((row) => row.dataset.key));
  const known = new Map();
  for (const row of [...old.children]) {
    if (wanted.has(row.dataset.key)) known.set(row.dataset.key, row);
    else row.remove();
  }
  let place = old.firstElementChild;
  for (const row of [...fresh.children]) {
    const have = known.get(row.dataset.key);
    if (have) morph(have, row);
    if (have && have === place) place = place.nextElementSibling;
    else old.insertBefore(have ?? document.importNode(row, true), place);
  }
}

function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  sameAttributes(old, fresh);
  if (old.tagName === "TBODY") {
    if ([...fresh.children, ...old.children].every((row) => row.dataset.key !== undefined)) {
      sameRows(old, fresh);
      return;
    }
  }
  const before = [...old.childNodes], after = [...fresh.childNodes];
  after.forEach((node, place) => {
    const have = before[place];
    if (!have) old.append(document.importNode(node, true));
    else if (have.nodeName !== node.nodeName) have.replaceWith(document.importNode(node, true));
    else morph(have, node);
  });
  before.slice(after.length).forEach((node) => node.remove());
}

function say(words) {
  const place = document.querySelector("[data-lost]");
  if (place && place.textContent !== words) place.textContent = words;
}

function reset(form) {
  for (const field of form.elements) {
    if (field.tagName === "INPUT") field.value = field.defaultValue;
    for (const option of field.options ?? []) option.selected = option.defaultSelected;
    if (field.tagName === "SELECT" && !field.querySelector("[selected]")) field.selectedIndex = 0;
  }
}

async function show(address, { filter = true } = {}) {
  const mine = ++asked;
  const slow = setTimeout(() => mine === asked && say(SILENT), PATIENCE_MS);
  try {
    const answer = await fetch(address, {
      headers: { accept: "text/html" },
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return;
    if (answer.redirected && new URL(answer.url).pathname.endsWith("/login")) {
      say("You are logged out: load this page again to log in. The figures are old.");
      return;
    }
    const main = page.querySelector("main[data-live]");
    if (!answer.ok || !main) throw new Error(String(answer.status));
    localTimes(main);
    const focused = document.activeElement;
    morph(document.querySelector("main"), main);
    if (!filter) document.querySelectorAll("form[data-swap]").forEach(reset);
    document.title = page.title;
    if (focused?.isConnected && focused !== document.activeElement) {
      focused.focus({ preventScroll: true });
    }
  } catch {
    if (mine === asked) say(SILENT);
  } finally {
    clearTimeout(slow);
  }
}

// The next time is counted from the answer to the last, and nobody looks at a hidden page.
function later() {
  clearTimeout(waiting);
  waiting = setTimeout(again, EVERY_MS);
}

async function again() {
  clearTimeout(waiting);
  if (document.hidden || refreshing) return;
  refreshing = true;
  await show(location.href);
  refreshing = false;
  later();
}

function swap(address, options) {
  history.replaceState(null, "", address);
  show(address, options);
}

function filtered(form) {
  const fields = [...new FormData(form)].filter(([, value]) => value !== "");
  swap(`${form.action}?${new URLSearchParams(fields)}`);
}

localTimes(document);
if (live) {
  later();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) again();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    swap(link.href, { filter: false });
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-swap]")) return;
    event.preventDefault();
    filtered(event.target);
  });
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-swap]");
    if (form) filtered(form);
  });
}
