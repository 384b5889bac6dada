// Answers that are not sent yet, kept by this tab alone until they are, so that a reload loses none.
"use strict";

const DRAFT = "dialens-draft";

const openDraft = (owner, screen) => {
  const stored = () => {
    try {
      const draft = JSON.parse(sessionStorage.getItem(DRAFT));
      return draft?.owner === owner && draft.screen === screen ? draft : null;
    } catch {
      return null; // Storage may be forbidden: then nothing is kept.
    }
  };
  const drop = () => { try { sessionStorage.removeItem(DRAFT); } catch { /* forbidden */ } };
  const draft = stored();
  if (!draft) drop();
  return {
    draft,
    drop,
    keep: (content) => {
      try { sessionStorage.setItem(DRAFT, JSON.stringify({ owner, screen, ...content })); } catch { /* forbidden, or full */ }
    },
  };
};

// Of who only looks at a screen nothing is kept.
const NO_DRAFT = { draft: null, keep: () => {}, drop: () => {} };

// By input; of radio buttons and check boxes the values that are chosen.
const enteredIn = (form) => {
  const entered = {};
  for (const [name, value] of new FormData(form)) if (name.startsWith("a:") && value !== "") (entered[name] ??= []).push(value);
  return entered;
};

const enterInto = (form, entered) => {
  for (const element of form.elements) {
    const values = entered[element.name];
    if (!values) continue;
    if (element.type === "radio" || element.type === "checkbox") element.checked = values.includes(element.value);
    else {
      element.value = values[0];
      element.dispatchEvent(new Event("draft"));
    }
  }
};
