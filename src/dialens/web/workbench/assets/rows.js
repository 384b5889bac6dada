// Rows by key, for tables and lists whose rows are marked `data-row` and hold a link `data-open`.
import { keys } from "./keys.js";

function step(by) {
  const all = [...document.querySelectorAll("[data-row]")];
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const row = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  row?.querySelector("[data-open]").focus();
  row?.scrollIntoView({ block: "nearest" });
}

if (document.querySelector("[data-row]")) {
  keys({
    j: ["Next row", () => step(1)],
    k: ["Previous row", () => step(-1)],
    Enter: ["Open the row", () => document.activeElement.closest("[data-row]")?.querySelector("[data-open]").click()],
  });
}

// A choice is taken at once; without scripts its form has a button.
for (const form of document.querySelectorAll("[data-at-once]")) {
  form.querySelector("button").hidden = true;
  form.addEventListener("change", () => form.submit());
}
