// What the controls do beyond plain HTML. Everything can be answered without this file.
"use strict";

// A slider without a handle: the number behind it stays empty until the line is touched.
for (const slide of document.querySelectorAll("[data-slide]")) {
  const number = slide.querySelector("input");
  const line = document.createElement("input");
  const { low, high, step } = slide.dataset;
  Object.assign(line, { type: "range", min: low, max: high, step, id: number.id });
  line.value = number.value || (Number(low) + Number(high)) / 2;
  line.className = number.value ? "" : "untouched";
  line.setAttribute("aria-describedby", number.getAttribute("aria-describedby"));
  line.setAttribute("aria-valuetext", number.value || "nothing chosen yet");
  const touch = () => {
    const before = number.value;
    number.value = line.value;
    line.className = "";
    line.setAttribute("aria-valuetext", line.value);
    if (before !== number.value) number.dispatchEvent(new Event("input", { bubbles: true }));
  };
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
