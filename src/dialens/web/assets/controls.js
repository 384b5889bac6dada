// What the controls do beyond plain HTML. Everything can be answered without this file.
"use strict";

// A slider without a handle: the number behind it stays empty until the line is touched.
for (const slide of document.querySelectorAll("[data-slide]")) {
  const number = slide.querySelector("input");
  const line = document.createElement("input");
  const { low, high, step } = slide.dataset;
  Object.assign(line, { type: "range", min: low, max: high, step, id: number.id });
  line.value = number.value.replace(",", ".") || (Number(low) + Number(high)) / 2;
  line.className = number.value ? "" : "untouched";
  line.setAttribute("aria-describedby", number.getAttribute("aria-describedby"));
  line.setAttribute("aria-valuetext", number.value || slide.dataset.untouched);
  slide.parentElement.querySelector(".help").textContent = slide.dataset.touch;
  const touch = () => {
    const before = number.value;
    number.value = line.value;
    line.className = "";
    line.setAttribute("aria-valuetext", line.value);
    if (before !== number.value) number.dispatchEvent(new Event("input", { bubbles: true }));
  };
  number.addEventListener("draft", () => {
    line.value = number.value.replace(",", ".");
    line.className = "";
    line.setAttribute("aria-valuetext", number.value);
  });
  line.addEventListener("input", (event) => { event.stopPropagation(); touch(); });
  // A click right in the middle moves nothing, and is an answer all the same.
  line.addEventListener("click", touch);
  line.addEventListener("change", (event) => {
    event.stopPropagation();
    touch();
    number.dispatchEvent(new Event("change", { bubbles: true }));
  });
  line.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); touch(); }
  });
  number.type = "hidden";
  number.removeAttribute("id");
  number.parentElement.replaceWith(line, number);
}

// Who writes an answer of their own has chosen it.
for (const words of document.querySelectorAll(".own-words [data-words]")) {
  const radio = words.closest(".own-words").querySelector("input[type=radio]");
  words.addEventListener("input", () => { if (radio && words.value) radio.checked = true; });
}

// In a ranking each rank, in best–worst each response, is given once: the earlier one makes way.
for (const box of document.querySelectorAll("[data-control=order], [data-control=best_worst]")) {
  box.addEventListener("change", (event) => {
    const chosen = event.target;
    for (const other of box.querySelectorAll("input:checked, select")) {
      if (other !== chosen && other.name !== chosen.name && other.value === chosen.value) {
        if (other.type === "radio") other.checked = false;
        else other.value = "";
      }
    }
  });
}

// Number keys answer the question that has the focus (WCAG 2.2, 2.1.4): on a scale the number of a
// point, of other choices their place, 0 for ten. Only where every answer has a key.
const NUMBER_KEYS = "dialens-number-keys";

const radiosByKey = (box) => {
  const radios = [...box.querySelectorAll("input[type=radio]")];
  const figures = radios.map((radio, place) => (box.querySelector(".likert") ? radio.value : String(place + 1)));
  const byKey = new Map(figures.map((figure, place) => [figure === "10" ? "0" : figure, radios[place]]));
  const oneGroup = new Set(radios.map((radio) => radio.name)).size === 1;
  return oneGroup && byKey.size === radios.length && figures.every((figure) => /^([0-9]|10)$/.test(figure)) ? byKey : null;
};

const keyed = [...document.querySelectorAll("main:not(.consent) [data-control=choices]")].filter(radiosByKey);
for (const box of keyed) {
  const byKey = radiosByKey(box);
  box.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input:not([type=radio]), textarea, select, [contenteditable]");
    const radio = byKey.get(event.key);
    if (!radio || typing || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    event.preventDefault();
    radio.focus();
    radio.click();
    try { sessionStorage.setItem(NUMBER_KEYS, "used"); } catch { /* storage is forbidden */ }
  });
}
for (const hint of document.querySelectorAll("[data-keys]")) hint.hidden = !keyed.length;
// Who uses them need not look for the first question on every page.
const usesNumberKeys = () => { try { return sessionStorage.getItem(NUMBER_KEYS); } catch { return null; } };
if (keyed.length && usesNumberKeys()) {
  keyed[0].tabIndex = -1;
  keyed[0].focus({ preventScroll: true });
}
