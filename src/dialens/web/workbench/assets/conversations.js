// The table of conversations: further rows as one scrolls, rows by key.
import { keys } from "./keys.js";
import "./brush.js";
import { flagging } from "./flagging.js";

const body = document.querySelector("[data-rows]");
const button = document.querySelector("[data-load]");
const status = document.querySelector("[data-status]");
let loading = false;

async function more() {
  const next = body?.querySelector("[data-more]");
  if (!next || loading) return;
  loading = true;
  try {
    const answer = await fetch(next.dataset.more, { headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(`${answer.status}`);
    next.insertAdjacentHTML("afterend", await answer.text());
    next.remove();
    const total = body.closest("table").getAttribute("aria-rowcount") - 1;
    status.textContent = `${rows().length.toLocaleString("en")} of ${total.toLocaleString("en")} shown`;
  } catch (error) {
    status.textContent = `No more rows could be loaded (${error.message}). Is the workbench still running?`;
  }
  loading = false;
  button.hidden = !body.querySelector("[data-more]");
}

function rows() {
  return [...(body?.querySelectorAll("[data-row]") ?? [])];
}

const flags = document.querySelector("[data-palette]") && body ? flagging(body) : null;

/** Go some rows on from the one with the focus. */
async function step(by) {
  const all = rows();
  const at = all.findIndex((row) => row === flags?.current() || row.contains(document.activeElement));
  const to = at < 0 ? 0 : at + by;
  if (to >= all.length) await more();
  const row = rows()[Math.max(0, to)];
  if (!row) return;
  if (flags) flags.choose(row);
  else row.querySelector("[data-open]").focus();
  row.scrollIntoView({ block: "nearest" });
}

if (button) {
  button.hidden = false;
  button.addEventListener("click", more);
  new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && more(), { rootMargin: "400px" }).observe(button);
}

keys({
  j: ["Next row", () => step(1)],
  k: ["Previous row", () => step(-1)],
  Enter: ["Open the row", () => (document.activeElement.closest("[data-row]") ?? flags?.current())?.querySelector("[data-open]").click()],
  "/": ["Search in texts", () => document.querySelector("#q").focus()],
});

// The distribution of another column needs no button.
const look = document.querySelector("[data-look]");
if (look) {
  look.querySelector("button").hidden = true;
  look.querySelector("select").addEventListener("change", () => look.submit());
}

// Only the columns that are on, as one parameter: addresses stay short.
document.querySelector("[data-columns]")?.addEventListener("formdata", (event) => {
  const chosen = event.formData.getAll("col");
  event.formData.set("col", chosen.join(","));
});

// Only one menu is open, and Escape closes it.
const menus = [...document.querySelectorAll(".drop")];
for (const menu of menus) {
  menu.addEventListener("toggle", () => menu.open && menus.forEach((other) => { if (other !== menu) other.open = false; }));
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { menu.open = false; menu.querySelector("summary").focus(); }
  });
}
document.addEventListener("click", (event) => menus.forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; }));
