// A session screen by screen: n and p step, Play lets the events come as they did, then goes on.
import { keys } from "./keys.js";

const link = (way) => document.querySelector(`a[rel="${way}"]`);
const go = (way) => () => link(way)?.click();
const play = document.querySelector("[data-play]");
const moments = [...document.querySelectorAll("[data-at]")];
const longest = 15; // seconds: nobody waits for somebody who went to make coffee

function playing() {
  document.body.classList.add("playing");
  play.textContent = "Stop";
  const own = document.querySelector("[data-seconds]").dataset.seconds;
  const last = Math.max(Number(own) || 0, ...moments.map((one) => Number(one.dataset.at)), 1);
  const speed = Math.max(1, last / longest);
  for (const one of moments) {
    one.classList.remove("past");
    setTimeout(() => { one.classList.add("past"); one.scrollIntoView({ block: "nearest" }); }, 1000 * Number(one.dataset.at) / speed);
  }
  setTimeout(() => {
    const next = link("next");
    if (!next || !document.body.classList.contains("playing")) return stop();
    location.assign(`${next.href}#play`);
  }, 1000 * (last / speed + 0.6));
}

function stop() {
  document.body.classList.remove("playing");
  history.replaceState(history.state, "", location.pathname + location.search);
  play.textContent = "Play";
}

const toggle = () => (document.body.classList.contains("playing") ? stop() : playing());
play.hidden = false;
play.addEventListener("click", toggle);
keys({ n: ["Next screen", go("next")], p: ["Previous screen", go("prev")], " ": ["Play or stop", toggle] });
if (location.hash === "#play") playing();
