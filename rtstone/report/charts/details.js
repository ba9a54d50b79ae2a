// The contents of a result's detail: built when it is first opened, or before printing.
import { KINDS } from "./draw.js";
import { element, table } from "./table.js";

const NARROW = 6; // columns of a table that fits beside others

export class Details {
  constructor({ details, forms, flags }, charts) {
    Object.assign(this, { details, forms, flags, charts });
  }

  /** Builds the inside of a result, once. */
  fill(result) {
    const spec = this.details[result.id];
    if (!spec || result.querySelector(".inside")) return;
    const page = result.id.split("-")[0];
    result.append(element("div", "inside",
      element("p", "muted", spec.lead),
      ...spec.notes.map((text) => element("p", "note", text)),
      ...this.#pictures(result, spec),
      element("div", "tables", ...this.#tables(spec.tables)),
      ...this.#flags(spec.flags),
      element("p", "back", link(`#${page}-table`, "Back to the results"))));
    this.charts.observe(result);
  }

  #pictures(result, { charts, corrected, drawn, windows, blocks }) {
    const title = result.querySelector(".name").textContent;
    const made = Object.fromEntries(charts.map((kind) =>
      [kind, picture(`${result.id}-${kind}`, kind, title)]));
    const { trace, heat, ...pair } = made;
    const found = [];
    if (Object.keys(pair).length) {
      const keys = corrected ? [legend("observed", "observed"),
        legend("corrected", "with the wake-ups that were missed accounted for")] : [];
      found.push(element("div", "pair", ...Object.values(pair)),
        element("p", "muted small-print", ...keys, drawn));
    }
    if (trace) {
      found.push(trace, element("p", "muted small-print", legend("worst", "maximum"),
        legend("observed", "mean"), legend("faint", "minimum"),
        legend("diamond", "one of the 16 worst samples"), windows));
    }
    if (heat) found.push(heat, element("p", "muted small-print", blocks));
    return found;
  }

  /** The narrow ones beside each other, then the wide ones. */
  #tables(specs) {
    const made = specs.map((spec) => this.#table(spec));
    return made.sort((a, b) => (a.className === "wide") - (b.className === "wide"));
  }

  #table([form, ...columns]) {
    const [caption, head, names] = this.forms[form];
    const named = names.length > 0;
    const all = named ? [names, ...columns] : columns;
    const made = table({ caption, head, named, quiet: { head: head[0] === "name" },
      rows: all[0].map((_, i) => all.map((column) => column[i])) });
    return head.length > NARROW ? wide(made, caption) : made;
  }

  #flags(names) {
    if (!names.length) return [];
    const list = element("dl", "flag-list");
    for (const name of names) {
      const [cause, advice] = this.flags[name];
      list.append(element("dt", "", element("span", "flag", name)),
        element("dd", "", cause ? `${cause}; ` : "No explanation is known to this version.",
          element("em", "", advice)));
    }
    return [list];
  }
}

/** Over the whole page, and scrolled where that is not enough: by the keyboard, too. */
function wide(made, caption) {
  const box = element("div", "wide", made);
  box.tabIndex = 0;
  box.role = "group";
  box.ariaLabel = caption;
  return box;
}

function link(target, text) {
  const made = element("a", "", text);
  made.href = target;
  return made;
}

function legend(swatch, text) {
  return element("span", "legend", element("span", `swatch ${swatch}`), text);
}

function picture(id, kind, title) {
  const chart = element("div", `chart ${kind}`);
  chart.dataset.chart = id;
  chart.role = "img";
  chart.dataset.title = title;
  chart.ariaLabel = KINDS[kind].says(title);
  const numbers = element("details", "numbers", element("summary", "", "As a table"),
    element("div"));
  return element("figure", "figure", element("figcaption", "", KINDS[kind].caption), chart,
    numbers);
}
