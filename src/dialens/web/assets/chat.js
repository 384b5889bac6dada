// Sends a message until it has arrived, and shows the replies as they come. What is said is only ever
// text; where replies are shown as Markdown, the server sends its safe HTML when one is whole.
"use strict";

(() => {
  const form = document.querySelector("form[data-chat]");
  if (!form) return;
  const log = document.getElementById("log");
  const field = form.elements.text, write = form.querySelector(".write");
  const send = write.querySelector("button"), again = form.querySelector("[data-again]");
  const told = form.querySelector("[data-error]"), count = form.querySelector("[data-count]");
  const status = form.querySelector("[data-chat-status]"), writing = form.querySelector("[data-is-writing]");
  const trouble = document.getElementById("trouble");
  const onward = document.querySelector("form.onward");
  const end = form.querySelector("[data-end]"), time = form.querySelector("[data-time]");
  const wanted = Number(form.dataset.wanted), called = JSON.parse(log.dataset.called);
  const all = called.map((_, place) => place + 1);
  const PATIENCE_MS = [500, 1000, 2000, 4000, 8000, 15000];
  let busy = false, pending = form.dataset.pending ? form.dataset.pending.split(",").map(Number) : all;

  const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  const grow = () => { field.style.height = "auto"; field.style.height = `${field.scrollHeight + 2}px`; };

  const turn = (speaker, own, side = null) => {
    const item = document.createElement("li"), name = document.createElement("span"), bubble = document.createElement("div");
    item.className = own ? "turn own" : side && all.length > 1 ? `turn side-${side}` : "turn";
    name.className = "speaker";
    name.textContent = speaker;
    bubble.className = "bubble";
    item.append(name, bubble);
    const other = log.lastElementChild;
    if (side === 1 && other?.classList.contains("side-2")) other.before(item);
    else log.append(item);
    return bubble;
  };

  const isWriting = (side) => log.dataset.writing.replace("{name}", called[side - 1]);

  const thinking = (side) => {
    const bubble = turn(called[side - 1], false, side), dots = document.createElement("span");
    bubble.classList.add("pending");
    dots.className = "dots";
    dots.setAttribute("role", "img");
    dots.setAttribute("aria-label", isWriting(side));
    dots.append(...[1, 2, 3].map(() => document.createElement("i")));
    bubble.append(dots);
    return bubble;
  };

  const say = (bubble, { text, html }) => {
    bubble.classList.remove("pending");
    bubble.classList.toggle("rich", html != null);
    if (html != null) bubble.innerHTML = html;
    else bubble.textContent = text;
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
    end.hidden = !state.may_end;
    startClock(state.seconds_left);
    if (state.done) {
      form.hidden = true;
      onward.hidden = false;
      onward.querySelector(".done").hidden = !state.over;
      toEnd();
      // Judged as it comes: what is asked about the reply comes at once.
      if ("part" in form.dataset && state.state === "answered" && !state.sorry) { onward.requestSubmit(); return; }
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
    const bubbles = new Map(pending.map((side) => [side, thinking(side)]));
    log.setAttribute("aria-busy", "true");
    // The dots for those who do not see them: a log that is busy is not read out.
    writing.textContent = pending.map(isWriting).join(", ");
    toEnd();
    for (let attempt = 0; ; attempt += 1) {
      const said = {};
      let state = null;
      try {
        const answer = await fetch("chat", {
          method: "POST",
          headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
          body: body.toString(),
        });
        if (answer.status === 422) {
          for (const bubble of bubbles.values()) bubble.parentElement.remove();
          log.removeAttribute("aria-busy");
          return { wrong: (await answer.json()).errors?.text ?? "" };
        }
        if (answer.ok && answer.headers.get("content-type")?.includes("ndjson")) {
          for await (const line of lines(answer.body)) {
            status.textContent = "";
            status.classList.remove("lost");
            if (line.piece !== undefined) {
              const follow = nearEnd(), bubble = bubbles.get(line.side);
              said[line.side] = (said[line.side] ?? "") + line.piece;
              if (bubble) say(bubble, { text: said[line.side] });
              if (follow) toEnd();
            } else if (line.state !== undefined) state = line;
            else if (line.next !== undefined) { location.reload(); return null; }
            else if (line.stored !== undefined) {
              if (time?.hidden) startClock(Number(time.dataset.seconds));
              // It has arrived: from now on an agent is not asked anew, only listened to.
              if (what === "again") body.set("do", "follow");
            }
          }
        } else if (answer.ok || (answer.status < 500 && answer.status !== 429 && answer.status !== 408)) {
          location.reload();
          return null;
        }
      } catch {
        // The message, or only the reply on its way here, was lost: the same key is sent again.
      }
      if (state) {
        pending = all.filter((side) => state.replies[side - 1]?.state !== "answered");
        for (const [side, bubble] of bubbles) {
          if (pending.includes(side)) bubble.parentElement.remove();
          else say(bubble, state.replies[side - 1]);
        }
        if (!pending.length) pending = all;
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
    const mayEnd = !end.hidden;
    let own = null;
    if (text !== null) {
      own = turn(log.dataset.you, true);
      own.textContent = text;
      field.value = "";
      grow();
    }
    again.hidden = true;
    end.hidden = true;
    const outcome = await converse(what, text);
    if (outcome === null) return;
    busy = false;
    send.disabled = false;
    field.readOnly = false;
    writing.textContent = "";
    status.textContent = "";
    status.classList.remove("lost");
    if (outcome.wrong !== undefined) {
      own?.parentElement.remove();
      field.value = text ?? "";
      grow();
      told.textContent = outcome.wrong;
      told.hidden = false;
      end.hidden = !mayEnd;
      field.focus();
      return;
    }
    field.dispatchEvent(new Event("sent"));
    settle(outcome.state);
  };

  // The page that comes says that the conversation is over.
  const finish = async () => {
    if (busy) return;
    busy = true;
    end.disabled = true;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const { ticket, screen, number } = form.elements;
        const body = new URLSearchParams({ ticket: ticket.value, screen: screen.value, number: number.value, do: "end" });
        const answer = await fetch("chat", { method: "POST", headers: { accept: "application/json" }, body });
        if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) break;
      } catch {
        // Sent again: ending twice changes nothing.
      }
      status.textContent = form.dataset.sayLost;
      status.classList.add("lost");
      await later(PATIENCE_MS[Math.min(attempt, PATIENCE_MS.length - 1)]);
    }
    location.reload();
  };

  let clock = null;
  const startClock = (left) => {
    if (!time || left === null || Number.isNaN(left)) return;
    clearInterval(clock);
    const until = performance.now() + left * 1000;
    const tick = () => {
      const seconds = Math.max(0, Math.ceil((until - performance.now()) / 1000));
      time.querySelector("b").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
      if (seconds > 0 || busy || form.hidden) return;
      clearInterval(clock);
      busy = true;
      location.reload();
    };
    time.hidden = false;
    clock = setInterval(tick, 500);
    tick();
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter?.value === "again") { work("again"); return; }
    if (event.submitter === end) { finish(); return; }
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

  startClock(parseFloat(time?.dataset.left));
  if (form.dataset.state === "waiting") work("follow");
  else if (form.dataset.state === "ready") field.focus({ preventScroll: true });
})();
