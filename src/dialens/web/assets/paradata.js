// What kind of device a page is on, and how a screen was answered on it. No text is read, only lengths.
"use strict";

const deviceClass = () => {
  if (matchMedia("(any-pointer: fine)").matches && matchMedia("(any-hover: hover)").matches) return "desktop";
  return Math.min(screen.width, screen.height) < 600 ? "phone" : "tablet";
};

const measureParadata = (page) => {
  const typing = { pastes: 0, pasted_characters: 0, keys: 0, characters: 0 };
  const lengths = new WeakMap();
  const isText = (element) => element.tagName === "TEXTAREA";
  page.addEventListener("beforeinput", ({ target }) => {
    if (isText(target)) lengths.set(target, target.value.length);
  });
  // Before the others hear of it, who keep what is counted here.
  page.addEventListener("input", ({ target, inputType = "" }) => {
    if (!isText(target)) return;
    const added = target.value.length - (lengths.get(target) ?? 0);
    lengths.set(target, target.value.length);
    typing.characters += added;
    if (/^insertFrom(Paste|Drop|Yank)/.test(inputType)) {
      typing.pastes += 1;
      typing.pasted_characters += Math.max(added, 0);
    } else if (/^(insert|delete)/.test(inputType)) {
      typing.keys += 1;
    }
  }, { capture: true });

  // How long the standard was in view, of the time the page was: half of it, or a third of a window.
  const standard = page.querySelector(".standard");
  let visible = !document.hidden, inView = false, since = performance.now(), shown = 0, seen = 0;
  const count = () => {
    const now = performance.now();
    if (visible) shown += now - since;
    if (visible && inView) seen += now - since;
    since = now;
  };
  if (standard) {
    document.addEventListener("visibilitychange", () => { count(); visible = !document.hidden; });
    new IntersectionObserver((entries) => {
      count();
      const { intersectionRatio, intersectionRect } = entries.at(-1);
      inView = intersectionRatio >= 0.5 || intersectionRect.height >= innerHeight / 3;
    }, { threshold: [0, 0.25, 0.5, 0.75, 1] }).observe(standard);
  }

  return {
    typing,
    known: (element) => lengths.set(element, element.value.length),
    taken: () => {
      count();
      return {
        device: deviceClass(),
        viewport_width: innerWidth,
        viewport_height: innerHeight,
        pixel_ratio: devicePixelRatio,
        zoom: visualViewport?.scale ?? null,
        theme: getComputedStyle(document.documentElement).colorScheme === "dark" ? "dark" : "light",
        browser_language: navigator.language,
        anchor_in_view: standard && shown > 0 ? seen / shown : null,
        ...(page.querySelector("textarea") ? typing : {}),
      };
    },
  };
};
