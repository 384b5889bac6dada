// Sends a message until it has arrived, and shows the reply as it comes. Text is only ever text.
"use strict";

(() => {
  const form = document.querySelector("form[data-chat]");
  if (!form) return;
  const log = document.getElementById("log");
  const field = form.elements.text, write = form.querySelector(".write");
  const send = write.querySelector("button"), again = form.querySelector("[data-again]");
  const told = form.querySelector("[data-error]"), count = form.querySelector("[data-count]");
  const status = form.querySelector("[data-chat-status]");
  const trouble = document.getElementById("trouble");
  const onward = document.querySelector("form.onward");
  const wanted = Number(form.dataset.wanted);
  const PATIENCE_MS = [500, 1000, 2000, 4000, 8000, 15000];
  let busy = false;

  const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  const grow = () => { field.style.height = "auto"; field.style.height = `${field.scrollHeight + 2}px`; };

  const turn = (speaker, own) => {
    const item = document.createElement("li"), name = document.createElement("span"), bubble = document.createElement("div");
    item.className = own ? "turn own" : "turn";
    name.className = "speaker";
    name.textContent = speaker;
    bubble.className = "bubble";
    item.append(name, bubble);
    log.append(item);
    return bubble;
  };

  const thinking = () => {
    const bubble = turn(log.dataset.called, false), dots = document.createElement("span");
    bubble.classList.add("pending");
    dots.className = "dots";
    dots.setAttribute("role", "img");
    dots.setAttribute("aria-label", log.dataset.writing);
    dots.append(...[1, 2, 3].map(() => document.createElement("i")));
    bubble.append(dots);
    return bubble;
  };

  // Who has scrolled up to read is left there.
  const nearEnd = () => window.innerHeight + window.scrollY > document.documentElement.scrollHeight - 160;
  const toEnd = () => window.scrollTo(0, document.documentElement.scrollHeight);

  const complain = (message) => {
    trouble.querySelector("p").textContent = message;
    trouble.hidden = !message;
  };

  const settle = (state) => {
    form.elements.number.value = String(state.number);
    form.elements.key.value = newKey();
    complain(state.sorry);
    if (state.over) {
      form.hidden = true;
      onward.hidden = false;
      toEnd();
      (state.sorry ? trouble : onward.querySelector("button")).focus({ preventScroll: true });
      return;
    }
    const failed = state.state === "failed";
    write.hidden = failed;
    again.hidden = !failed;
    count.textContent = form.dataset.countText.replace("{number}", Math.min(state.number, wanted));
    toEnd();
    (failed ? again.querySelector("button") : field).focus({ preventScroll: true });
  };

  const lines = async function* (body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const part of parts) if (part) yield JSON.parse(part);
    }
  };

  // One message, or one look: sent again with the same key until the last line has come.
  const converse = async (what, text) => {
    const body = new URLSearchParams({
      ticket: form.elements.ticket.value, key: form.elements.key.value, screen: form.dataset.chat,
      number: form.elements.number.value, do: what, ...(text === null ? {} : { text }),
    });
    const bubble = thinking();
    log.setAttribute("aria-busy", "true");
    toEnd();
    for (let attempt = 0; ; attempt += 1) {
      let state = null, said = "";
      try {
        const answer = await fetch("chat", {
          method: "POST",
          headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
          body: body.toString(),
        });
        if (answer.status === 422) {
          bubble.parentElement.remove();
          log.removeAttribute("aria-busy");
          return { wrong: (await answer.json()).errors?.text ?? "" };
        }
        if (answer.ok && answer.headers.get("content-type")?.includes("ndjson")) {
          for await (const line of lines(answer.body)) {
            status.textContent = "";
            status.classList.remove("lost");
            if (line.piece !== undefined) {
              const follow = nearEnd();
              said += line.piece;
              bubble.classList.remove("pending");
              bubble.textContent = said;
              if (follow) toEnd();
            } else if (line.state !== undefined) state = line;
            else if (line.next !== undefined) { location.reload(); return null; }
            // It has arrived: from now on an agent is not asked anew, only listened to.
            else if (line.stored !== undefined && what === "again") body.set("do", "follow");
          }
        } else if (answer.ok || (answer.status < 500 && answer.status !== 429 && answer.status !== 408)) {
          location.reload();
          return null;
        }
      } catch {
        // The message, or only the reply on its way here, was lost: the same key is sent again.
      }
      if (state) {
        if (state.state === "answered") {
          bubble.classList.remove("pending");
          bubble.textContent = state.text;
        } else bubble.parentElement.remove();
        log.removeAttribute("aria-busy");
        return { state };
      }
      status.textContent = form.dataset.sayLost;
      status.classList.add("lost");
      await later(PATIENCE_MS[Math.min(attempt, PATIENCE_MS.length - 1)]);
    }
  };

  const work = async (what, text = null) => {
    if (busy) return;
    busy = true;
    send.disabled = true;
    field.readOnly = true;
    told.hidden = true;
    complain("");
    let own = null;
    if (text !== null) {
      own = turn(log.dataset.you, true);
      own.textContent = text;
      field.value = "";
      grow();
    }
    again.hidden = true;
    const outcome = await converse(what, text);
    if (outcome === null) return;
    busy = false;
    send.disabled = false;
    field.readOnly = false;
    status.textContent = "";
    status.classList.remove("lost");
    if (outcome.wrong !== undefined) {
      own?.parentElement.remove();
      field.value = text ?? "";
      grow();
      told.textContent = outcome.wrong;
      told.hidden = false;
      field.focus();
      return;
    }
    field.dispatchEvent(new Event("sent"));
    settle(outcome.state);
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter?.value === "again") { work("again"); return; }
    const text = field.value.trim();
    if (text) work("say", text);
    else field.focus();
  });
  field.addEventListener("input", grow);
  // On a keyboard the return key sends, with shift it begins a new line; on a phone it may not.
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && matchMedia("(pointer: fine)").matches) {
      event.preventDefault();
      form.requestSubmit(send);
    }
  });
  window.addEventListener("beforeunload", (event) => { if (field.value.trim() && !busy) event.preventDefault(); });

  if (form.dataset.state === "waiting") work("follow");
  else if (form.dataset.state === "ready") field.focus({ preventScroll: true });
})();
