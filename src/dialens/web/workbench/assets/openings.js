// The list of openings, and the choice of agents on both pages of side by side.
import { keys } from "./keys.js";

const follow = (key) => () => document.querySelector(`[data-step="${key}"]`)?.click();
const links = [...document.querySelectorAll("[data-row]")];
function step(by) {
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
}
if (links.length) keys({ j: ["Next opening", () => step(1)], k: ["Previous opening", () => step(-1)] });
keys({ n: ["Next", follow("n")], p: ["Previous", follow("p")] });

/* No more agents than there is room for. */
const form = document.querySelector("[data-chooser]");
const boxes = [...form.querySelectorAll("[name=agent]")];
function limit() {
  const full = boxes.filter((box) => box.checked).length >= Number(form.dataset.most);
  for (const box of boxes) box.disabled = full && !box.checked;
}
form.addEventListener("change", limit);
limit();
