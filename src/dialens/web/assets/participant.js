// Keeps time, writes down what happens on the page, and sends an answer until it has arrived.
// Comes after paradata.js and draft.js.
"use strict";

(() => {
  const form = document.querySelector("form[data-screen]");
  const button = form.querySelector("button[type=submit]");
  const status = form.querySelector("[data-status]");
  const page = form.elements.key.value;
  const EVERY_MS = 20000, ALIVE_MS = 60000, SLOW_MS = 1000;
  const PATIENCE_MS = [1000, 2000, 4000, 8000, 15000];
  let serial = 0, unsent = [], lastSent = Date.now(), submitting = false, touched = false;

  const paradata = measureParadata(document.getElementById("main"));
  const previewed = "preview" in form.dataset;
  const { draft, keep, drop } = previewed ? NO_DRAFT : openDraft(form.elements.ticket.value, form.dataset.screen);

  const now = () => new Date().toISOString();
  const note = (kind, field = null, value = null) => {
    unsent.push({ kind, at: now(), serial: serial++, field, value });
    if (unsent.length > 400) flush();
  };

  const flush = () => {
    if (submitting || previewed) return;
    const events = unsent.slice(0, 400);
    lastSent = Date.now();
    fetch("events", {
      method: "POST",
      keepalive: true,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ticket: form.elements.ticket.value, page, screen: form.dataset.screen, events }),
    }).then((answer) => {
      // Sent twice they are kept once, so they are only dropped when they have arrived.
      if (answer.ok) unsent = unsent.filter((one) => !events.includes(one));
    }).catch(() => {});
  };

  const shownAt = now();
  note("shown");
  if (document.hidden) note("hidden");
  document.addEventListener("visibilitychange", () => {
    note(document.hidden ? "hidden" : "visible");
    if (document.hidden) flush();
  });
  window.addEventListener("blur", () => note("blur"));
  window.addEventListener("focus", () => note("focus"));
  window.addEventListener("pagehide", () => { if (!submitting) { note("hidden"); flush(); } });
  // Brought back from the browser's memory, a page may be of a screen that is over.
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  setInterval(() => {
    if (document.hidden) return;
    if (unsent.length ? Date.now() - lastSent > EVERY_MS : Date.now() - lastSent > ALIVE_MS) flush();
  }, 5000);

  const fieldOf = (element) => element.closest("[data-field]")?.dataset.field ?? null;
  const message = document.querySelector("form[data-chat]")?.elements.text;
  const keepDraft = () => keep({ entered: enteredIn(form), message: message?.value, typing: paradata.typing });
  if (draft) {
    enterInto(form, draft.entered);
    if (message && draft.message) message.value ||= draft.message;
    Object.assign(paradata.typing, draft.typing);
    for (const text of document.querySelectorAll("textarea")) paradata.known(text);
    if (Object.keys(draft.entered).length) status.textContent = form.dataset.sayRestored;
  }
  for (const kind of ["input", "sent"]) message?.addEventListener(kind, keepDraft);
  form.addEventListener("input", (event) => {
    settleError(event.target.closest("[data-field]"));
    keepDraft();
    if (!touched) note("first_input", fieldOf(event.target));
    touched = true;
  });
  form.addEventListener("change", (event) => {
    const element = event.target;
    // Of words only their number is written down here; the answer itself comes with the form.
    const words = element.matches("textarea, [data-words]"), off = element.type === "checkbox" && !element.checked;
    const value = words ? `${element.value.length} characters` : off ? "" : element.value;
    const part = element.name.split(":").slice(2).join(":");
    note("change", fieldOf(element), (part ? `${part}=${value}` : value).slice(0, 200));
    keepDraft();
  });

  // The place of a message stays until the next submission: nothing moves under the pointer.
  const settleError = (box) => {
    const told = box?.querySelector("[data-error]");
    if (!told || told.hidden || !told.textContent) return;
    told.style.minHeight = `${told.getBoundingClientRect().height}px`;
    told.textContent = "";
    unmark(box);
  };

  const unmark = (box) => {
    for (const element of [box, ...box.querySelectorAll("[aria-invalid]")]) element.removeAttribute("aria-invalid");
  };

  const clearError = (box) => {
    const told = box.querySelector("[data-error]");
    told.hidden = true;
    told.textContent = "";
    told.style.minHeight = "";
    unmark(box);
  };

  const showErrors = (errors) => {
    const summary = document.getElementById("summary");
    const list = summary.querySelector("ul");
    list.replaceChildren();
    for (const box of form.querySelectorAll("[data-field]")) {
      clearError(box);
      const message = errors[box.dataset.field];
      if (!message) continue;
      const told = box.querySelector("[data-error]");
      told.textContent = message;
      told.hidden = false;
      (box.querySelector("input:not([type=hidden]), textarea, select") ?? box).setAttribute("aria-invalid", "true");
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `#${box.id}`;
      link.textContent = box.querySelector(".prompt").textContent.trim();
      const owner = box.closest(".response");
      if (owner && form.querySelectorAll(".response").length > 1) link.textContent += ` (${owner.getAttribute("aria-label")})`;
      link.addEventListener("click", (event) => {
        event.preventDefault();
        box.querySelector("input:not([type=hidden]), textarea, select").focus();
      });
      item.append(link, `: ${message}`);
      list.append(item);
    }
    summary.hidden = false;
    summary.focus();
  };

  const later = (ms) => new Promise((done) => setTimeout(done, ms));

  // By field; of a control with several inputs (`a:field:part`), by part.
  const answers = () => {
    const entered = {};
    for (const [name, value] of new FormData(form)) {
      const [mark, field, ...part] = name.split(":");
      if (mark !== "a") continue;
      if (part.length) (entered[field] ??= {})[part.join(":")] = value;
      else entered[field] = value;
    }
    return entered;
  };

  const send = async (body, onLost) => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answer = await fetch(form.action, {
          method: "POST",
          headers: { accept: "application/json", "content-type": "application/json" },
          body,
        });
        if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) return answer;
      } catch {
        // The answer, or only the word that it arrived, was lost: the same key is sent again.
      }
      onLost();
      status.textContent = form.dataset.sayLost;
      status.classList.add("lost");
      await later(PATIENCE_MS[Math.min(attempt, PATIENCE_MS.length - 1)]);
    }
  };

  const submit = async () => {
    if (submitting) return;
    submitting = true;
    button.disabled = true;
    status.textContent = "";
    note("submitted");
    const slow = setTimeout(() => { status.textContent = form.dataset.saySending; }, SLOW_MS);
    const answer = await send(JSON.stringify({
      ticket: form.elements.ticket.value,
      screen: form.dataset.screen,
      index: Number(form.elements.index.value),
      key: page,
      answers: answers(),
      shown_at: shownAt,
      submitted_at: now(),
      events: unsent.slice(-500),
      paradata: paradata.taken(),
    }), () => clearTimeout(slow));
    clearTimeout(slow);
    status.classList.remove("lost");
    if (answer.ok) {
      drop();
      const { next } = await answer.json();
      location.replace(next);
      return;
    }
    submitting = false;
    button.disabled = false;
    if (answer.status === 422) {
      status.textContent = "";
      showErrors((await answer.json()).errors ?? {});
    } else {
      location.reload();
    }
  };

  form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  // A reply that has just come is where the eye is; what was said before stands above it.
  document.querySelector("[data-latest]")?.scrollIntoView({ block: "start" });

  // In a number field the return key goes on to the next one, and submits at the last.
  const numbers = [...form.querySelectorAll("[data-control=number] input")];
  numbers.forEach((field, place) => field.addEventListener("keydown", (event) => {
    const next = numbers.slice(place + 1).find((other) => !other.value);
    if (event.key === "Enter" && next && field.value) { event.preventDefault(); next.focus(); }
  }));

  if (form.dataset.left !== undefined) {
    const clock = form.querySelector("[data-clock]"), figure = clock.querySelector("b");
    const end = performance.now() + Number(form.dataset.left) * 1000;
    const tick = () => {
      const left = Math.max(0, end - performance.now());
      figure.textContent = String(Math.ceil(left / 1000));
      clock.classList.toggle("short", left < 5000);
      if (left > 0) setTimeout(tick, Math.min(left, 250));
      else submit();
    };
    tick();
  }
})();
