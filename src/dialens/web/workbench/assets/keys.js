// The keys of all pages. A page registers its own with `keys({ j: ["Next row", next] })`; `?` shows
// those there are. While somebody writes, or holds Ctrl, Alt or Meta, keys are the browser's.
const known = new Map();
const dialog = document.querySelector("[data-keys-dialog]");

/** Let keys do something: for each of them (as `event.key` names it) its meaning and what it does. */
export function keys(table) {
  for (const [key, entry] of Object.entries(table)) known.set(key, entry);
}

/** Whether somebody is writing in an element. */
export function writes(element) {
  const other = ["button", "checkbox", "radio", "range", "reset", "submit"];
  return element.isContentEditable || /^(textarea|select)$/i.test(element.tagName)
    || (element.tagName === "INPUT" && !other.includes(element.type));
}

function help() {
  const names = { " ": "Space", ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→" };
  dialog.querySelector("[data-keys-list]").replaceChildren(...[...known].map(([key, [meaning]]) => {
    const row = document.createElement("div");
    const [dt, kbd, dd] = ["dt", "kbd", "dd"].map((name) => document.createElement(name));
    kbd.textContent = names[key] ?? key;
    dd.textContent = meaning;
    dt.append(kbd);
    row.append(dt, dd);
    return row;
  }));
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.defaultPrevented) return;
  if (dialog.open || writes(event.target)) return;
  const entry = known.get(event.key);
  if (!entry) return;
  // Enter and Space on a link or button are that element's own.
  if ((event.key === "Enter" || event.key === " ") && event.target.closest("a, button, summary, input")) return;
  event.preventDefault();
  entry[1](event);
});

keys({ "?": ["Show the keys", help] });
const button = document.querySelector("[data-help]");
button.hidden = false;
button.addEventListener("click", help);

// The key to these pages is in a cookie now: addresses that are copied need not hold it.
const here = new URL(location.href);
if (here.searchParams.has("token")) {
  here.searchParams.delete("token");
  history.replaceState(history.state, "", here);
}
