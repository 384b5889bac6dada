// A form from a JSON Schema: each part of the study file as fields; what no field suits, as YAML.
"use strict";

const schemaForm = (() => {
  const LONG = new Set(["text", "message", "definition", "description", "warning", "question", "prompt", "why", "analysis_plan", "response", "verdict", "agree", "hypotheses", "responses", "when", "context", "topics", "standard"]);
  const TO_FILL_IN = "PLEASE FILL IN";

  const SINGLE = { inline: "item", items: "item", before: "questionnaire", after: "questionnaire", context: "utterance", gold: "gold item", expect: "expectation", attention: "attention check", when: "text", hypotheses: "hypothesis", qualities: "quality" };

  const LEVELS = { anchor: ["none", "both"], layout: ["together", "separate"], order: ["random", "fixed"] };
  const OWN_LEVELS = ["first", "second"].map((name) => ({ name, note: TO_FILL_IN }));

  const words = (key) => {
    const text = String(key).replaceAll("_", " ");
    return text.charAt(0).toUpperCase() + text.slice(1);
  };
  const make = (tag, properties = {}, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  };
  const singular = (at) => {
    const key = at.findLast((part) => typeof part === "string");
    return SINGLE[key] ?? key.replaceAll("_", " ").replace(/s$/, "");
  };
  const keyOf = (at) => JSON.stringify(at);
  const idOf = (at) => `f-${at.join("/")}`;
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

  return (root, { change, opened, readYaml }) => {
    // A reference stands for what it refers to; what stands beside it (a description) counts more.
    const resolved = (schema) => {
      if (!schema.$ref) return schema;
      const { $ref, ...own } = schema;
      return { ...resolved(root.$defs[$ref.split("/").pop()]), ...own };
    };
    const variants = (schema) => {
      const full = resolved(schema);
      const { anyOf, ...own } = full;
      if (!anyOf) return [full];
      return anyOf.flatMap(variants).filter((one) => one.type !== "null").map((one) => ({ ...one, ...own }));
    };
    const kindOf = (schema) => {
      if (schema.discriminator) return "union";
      if (schema.enum) return "choice";
      if (schema.const !== undefined) return "constant";
      if (schema.type === "object") return schema.properties ? "object" : entryOf(schema) ? "map" : "yaml";
      if (schema.type === "array") return "list";
      return schema.type ?? "yaml";
    };
    const entryOf = (schema) => Object.values(schema.patternProperties ?? {})[0] ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : null);
    const fits = (schema, value) => {
      if (value === undefined || value === null) return true;
      const kind = kindOf(schema);
      if (kind === "union" || kind === "object" || kind === "map") return isObject(value);
      if (kind === "list") return Array.isArray(value);
      if (kind === "number" || kind === "integer") return typeof value === "number";
      if (kind === "boolean") return typeof value === "boolean";
      return typeof value === "string";
    };
    const chosen = (schema, value) => variants(schema).find((one) => fits(one, value)) ?? { ...resolved(schema), type: undefined, anyOf: undefined };

    // What a new entry begins with: valid as far as that can be known.
    const starter = (schema, name, at) => {
      if (at[0] === "factors" && at.length === 2) return LEVELS[name] ?? OWN_LEVELS;
      const options = variants(schema);
      const one = options.find((option) => kindOf(option) === "union") ?? options[0];
      const kind = kindOf(one);
      if (kind === "union") {
        const [first] = Object.keys(one.discriminator.mapping);
        const named = one.discriminator.mapping.likert ? "likert" : first;
        return { kind: named, ...starter(resolved({ $ref: one.discriminator.mapping[named] }), name, at) };
      }
      if (kind === "object") {
        const begun = {};
        for (const key of one.required ?? []) begun[key] = key === "id" ? name : starter(one.properties[key], name, [...at, key]);
        if (one.properties.label) begun.label = words(name);
        if (one.properties.responses) begun.responses = { agent_a: TO_FILL_IN, agent_b: TO_FILL_IN };
        return begun;
      }
      if (kind === "list") return Array.from({ length: one.minItems ?? 0 }, (_, n) => starter(one.items, `${name}-${n + 1}`, [...at, n]));
      if (kind === "map") return {};
      if (kind === "number" || kind === "integer") return one.minimum ?? one.default ?? 1;
      if (kind === "boolean") return false;
      if (kind === "choice") return one.enum[0];
      return TO_FILL_IN;
    };

    const box = (at, ...inside) => {
      const made = make("div", { className: "field" }, ...inside, make("div", { className: "says" }));
      made.dataset.at = keyOf(at);
      return made;
    };
    const help = (schema, at) => schema.description ? [make("p", { className: "help", id: `${idOf(at)}-help`, textContent: schema.description })] : [];
    const described = (control, schema, at) => {
      if (schema.description) control.setAttribute("aria-describedby", `${idOf(at)}-help`);
      return control;
    };
    const isDefault = (schema) => schema.default !== undefined && schema.default !== null && schema.default !== "" && !isObject(schema.default);

    const control = (schema, value, at, label) => {
      const kind = kindOf(schema), id = idOf(at);
      if (kind === "choice") {
        const options = schema.enum.map((word) => new Option(word, word));
        if (schema.default === undefined || value === undefined)
          options.unshift(new Option(isDefault(schema) ? `${schema.default} (if not given)` : "not given", ""));
        const select = make("select", { id }, ...options);
        select.value = value ?? "";
        select.addEventListener("change", () => change(select.value === "" ? { at, remove: true } : { at, value: select.value }));
        return select;
      }
      const several = kind === "string" && (at.slice(-2).some((part) => LONG.has(part)) || String(value ?? "").length > 60 || String(value ?? "").includes("\n"));
      const number = kind === "number" || kind === "integer";
      const input = several ? make("textarea", { id, rows: 1 }) : make("input", { id, type: "text", inputMode: number ? "decimal" : "text" });
      input.value = value ?? "";
      input.autocomplete = "off";
      if (isDefault(schema)) input.placeholder = `${schema.default} (if not given)`;
      input.addEventListener("change", () => {
        const text = input.value;
        if (text.trim() === "" && !(label && label.required)) { change({ at, remove: true }, { missing: value === undefined }); return; }
        if (!number) { change({ at, value: text }); return; }
        const figure = Number(text.trim().replace(",", "."));
        if (Number.isFinite(figure) && text.trim() !== "") change({ at, value: figure });
        else say(input.closest("[data-at]"), "A number is expected here; nothing was written.");
      });
      return input;
    };

    const say = (field, message) => {
      const told = field.querySelector(":scope > .says");
      told.replaceChildren(make("p", { className: "error", textContent: message }));
    };

    const simple = (schema, value, at, title, required) => {
      if (kindOf(schema) === "boolean") {
        const tick = make("input", { type: "checkbox", id: idOf(at), checked: value ?? schema.default ?? false });
        tick.addEventListener("change", () => change({ at, value: tick.checked }));
        const label = make("label", { className: "tick", htmlFor: idOf(at) }, described(tick, schema, at), title);
        return box(at, label, ...help(schema, at));
      }
      const made = described(control(schema, value, at, { required }), schema, at);
      return box(at, make("label", { htmlFor: idOf(at), textContent: title }), made, ...help(schema, at));
    };

    const yaml = (schema, value, at, title) => {
      const area = make("textarea", { id: idOf(at), className: "yaml", rows: 3, spellcheck: false });
      if (value !== undefined) readYaml(at).then((text) => { area.value = text; });
      area.addEventListener("change", () =>
        change(area.value.trim() === "" ? { at, remove: true } : { at, yaml: area.value }, { redraw: true, missing: value === undefined && area.value.trim() === "" }));
      const label = make("label", { htmlFor: idOf(at), textContent: `${title}, as YAML` });
      return box(at, label, described(area, schema, at), ...help(schema, at));
    };

    const button = (text, spoken, act) => {
      const made = make("button", { type: "button", className: "button", textContent: text });
      if (spoken !== text) made.setAttribute("aria-label", spoken);
      made.addEventListener("click", act);
      return made;
    };
    const remover = (at, title) => button("Remove", `Remove ${title}`, () => change({ at, remove: true }, { redraw: true }));

    // A part that opens; what is in it is made when it is opened for the first time.
    const section = (schema, at, title, inside, tools = []) => {
      const details = make("details", {}, make("summary", {}, title)), body = make("div", { className: "inside" });
      details.dataset.at = keyOf(at);
      const asYaml = button("As YAML", `${title} as YAML`, () => { body.replaceChildren(yaml(schema, {}, at, title)); body.querySelector("textarea").focus(); });
      const fill = () => {
        if (body.childElementCount) return;
        body.append(make("div", { className: "says" }), ...help(schema, at), ...inside(), make("div", { className: "tools" }, ...tools, ...(at.length ? [asYaml] : [])));
      };
      details.append(body);
      details.addEventListener("toggle", () => { opened(keyOf(at), details.open); });
      details.fill = fill;
      details.querySelector("summary").addEventListener("click", fill);
      return details;
    };

    const fieldsOf = (schema, value, at, skipped = []) => Object.entries(schema.properties)
      .filter(([key]) => !skipped.includes(key))
      .map(([key, part]) => field(part, value?.[key], [...at, key], words(key), (schema.required ?? []).includes(key)));

    const union = (schema, value, at, title) => {
      const mapping = schema.discriminator.mapping, kind = isObject(value) ? value.kind : value;
      const select = make("select", { id: `${idOf(at)}/kind` }, ...Object.keys(mapping).map((name) => new Option(words(name), name)));
      if (!(kind in mapping)) select.prepend(new Option(kind ?? "not given", kind ?? ""));
      select.value = kind ?? "";
      select.addEventListener("change", () => {
        const known = resolved({ $ref: mapping[select.value] }), kept = isObject(value) ? value : {};
        const fitting = Object.entries(kept).filter(([key, part]) => key !== "kind" && known.properties[key] && variants(known.properties[key]).some((one) => fits(one, part)));
        change({ at, value: { ...starter(known, title, at), ...Object.fromEntries(fitting), kind: select.value } }, { redraw: true });
      });
      const chooser = make("div", { className: "field" }, make("label", { htmlFor: select.id, textContent: "Kind" }), select, make("div", { className: "says" }));
      chooser.dataset.at = keyOf([...at, "kind"]);
      if (!(kind in mapping)) return [chooser];
      if (!isObject(value)) return [chooser, button("Show its settings", "Show its settings", () => change({ at, value: { kind } }, { redraw: true }))];
      return [chooser, ...fieldsOf(resolved({ $ref: mapping[kind] }), value, at, ["kind"])];
    };

    const entries = (schema, value, at) => {
      const part = entryOf(schema), single = singular(at);
      const made = Object.entries(value ?? {}).map(([name, own]) => {
        const place = [...at, name];
        const renamed = make("input", { type: "text", value: name, id: `${idOf(place)}-name`, autocomplete: "off" });
        renamed.addEventListener("change", () => renamed.value.trim() && change({ at: place, rename: renamed.value.trim() }, { redraw: true }));
        const called = make("div", { className: "field" }, make("label", { htmlFor: renamed.id, textContent: "Name in the data" }), renamed);
        const one = chosen(part, own);
        if (["string", "number", "integer"].includes(kindOf(one))) {
          const row = make("div", { className: "row" }, simple(one, own, place, name, true), remover(place, name));
          return row;
        }
        return section(one, place, name, () => [called, ...inner(one, own, place, words(name))], [remover(place, name)]);
      });
      const input = make("input", { type: "text", id: `${idOf(at)}-new`, autocomplete: "off" });
      const taken = make("div", { className: "says" });
      const add = () => {
        const name = input.value.trim();
        if (!name) { input.focus(); return; }
        if (Object.hasOwn(value ?? {}, name)) {
          taken.replaceChildren(make("p", { className: "error", role: "alert", textContent: `There is a ${single} ${name} already; nothing was written.` }));
          input.focus();
          return;
        }
        opened(keyOf([...at, name]), true);
        change({ at: [...at, name], value: starter(part, name, [...at, name]) }, { redraw: true, focus: [...at, name] });
      };
      input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
      const adding = make("div", { className: "adding" }, make("label", { htmlFor: input.id }, `Name of a new ${single}`, input), button("Add", `Add ${single}`, add));
      return [...made, adding, taken];
    };

    const items = (schema, value, at) => {
      const single = singular(at);
      const made = (value ?? []).map((own, number) => {
        const place = [...at, number], one = chosen(schema.items, own), called = `${single} ${number + 1}`;
        if (["string", "number", "integer", "choice"].includes(kindOf(one)) && own !== null)
          return make("div", { className: "row" }, simple(one, own, place, words(called), true), remover(place, called));
        const shown = isObject(own) ? own.id ?? own.name ?? own.title ?? "" : "";
        return section(one, place, shown ? `${number + 1}: ${shown}` : words(called), () => inner(one, own, place, words(called)), [remover(place, called)]);
      });
      const place = [...at, (value ?? []).length];
      const add = button(`Add ${single}`, `Add ${single}`, () => {
        opened(keyOf(place), true);
        change({ at: place, value: starter(schema.items, `${single.replaceAll(" ", "-")}-${place.at(-1) + 1}`, place) }, { redraw: true, focus: place });
      });
      return [...made, make("div", { className: "tools" }, add)];
    };

    const inner = (schema, value, at, title) => {
      const kind = kindOf(schema);
      if (kind === "object") return fieldsOf(schema, value, at);
      if (kind === "union") return union(schema, value, at, title);
      if (kind === "map") return entries(schema, value, at);
      if (kind === "list") return items(schema, value, at);
      return [yaml(schema, value, at, title)];
    };

    const field = (declared, value, at, title, required = false) => {
      const options = variants(declared);
      // A kind alone may stand for a union: `instrument: likert`.
      const union = options.find((one) => kindOf(one) === "union");
      const schema = union && (value === undefined || typeof value === "string") ? union : chosen(declared, value);
      const kind = kindOf(schema);
      if (["string", "number", "integer", "boolean", "choice"].includes(kind)) return simple(schema, value, at, title, required);
      if (kind === "yaml" || kind === "constant") return yaml(schema, value, at, title);
      const made = section(schema, at, title, () => inner(schema, value, at, title));
      return made;
    };

    return { field, words, keyOf, idOf, resolved, kindOf, variants, say };
  };
})();
