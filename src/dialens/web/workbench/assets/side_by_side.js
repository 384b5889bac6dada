// Agents side by side: the keys move between turns and between agents.
import { keys } from "./keys.js";
import { flagging } from "./flagging.js";
import "./openings.js";

const root = document.querySelector("[data-sides]");
const flags = flagging(root);

/* Units row by row; the whole conversations come first. */
const rows = () => [root.querySelector(".heads"), ...root.querySelectorAll(".row")]
  .map((row) => [...row.querySelectorAll("[data-unit]")]).filter((row) => row.length);

function move(down, across) {
  const table = rows();
  const at = table.findIndex((row) => row.includes(flags.current()));
  if (at < 0) { flags.choose(table[Math.min(1, table.length - 1)]?.[0]); return; }
  const column = table[at].indexOf(flags.current());
  const row = table[Math.max(0, Math.min(table.length - 1, at + down))];
  flags.choose(row[Math.max(0, Math.min(row.length - 1, column + across))]);
}

keys({
  j: ["Next turn", () => move(1, 0)],
  k: ["Previous turn", () => move(-1, 0)],
  h: ["Agent to the left", () => move(0, -1)],
  l: ["Agent to the right", () => move(0, 1)],
});

function arrive() {
  const row = /^#r\d+$/.test(location.hash) ? document.getElementById(location.hash.slice(1)) : null;
  if (row) {
    flags.choose(row.querySelector("[data-unit]"));
    row.scrollIntoView({ block: "center" });
  } else flags.choose(root.querySelector(".row [data-unit]"), { focus: false });
}
addEventListener("hashchange", arrive);
arrive();
