// A page without questions: what a tab kept for those with questions is not needed any more.
// Comes after paradata.js.
"use strict";

for (const name of ["dialens-draft", "dialens-number-keys"]) {
  try { sessionStorage.removeItem(name); } catch { /* storage is forbidden */ }
}

const measured = document.querySelector("input[name=device]");
if (measured) measured.value = deviceClass();

// Times are said as the reader's language and place write them; without a script, in UTC.
for (const time of document.querySelectorAll("time[data-local]")) {
  const words = new Intl.DateTimeFormat(document.documentElement.lang || undefined, {
    dateStyle: "full", timeStyle: "short",
  });
  time.textContent = words.format(new Date(time.dateTime));
}
