import { el, keyed, setShown, setText } from "./dom.js";
import { Grid } from "./grid.js";

// apart is for nodes of which nobody knows the compartment yet.
const apart = { id: "", name: "Nodes without a compartment", none: true };

// keyOf tells compartments apart: two may be called the same, and one may come to be called otherwise.
const keyOf = ({ id, name }) => `${id} ${name}`;

// Bars are the compartments: what status says of each, and its nodes.
export class Bars {
  #bars = new Map();

  constructor(parent, on) {
    this.parent = parent;
    this.on = on;
    new ResizeObserver(() => this.#each((grid) => grid.resized())).observe(parent);
  }

  get grids() {
    return [...this.#bars.values()].map((bar) => bar.grid);
  }

  #each(call) {
    this.grids.forEach(call);
  }

  draw() {
    this.#each((grid) => grid.draw());
  }

  // go moves the position to a node, in the grid that has it.
  go(name) {
    this.#each((grid) => grid.go(name));
  }

  redraw() {
    this.#each((grid) => grid.redraw());
  }

  // show draws the compartments with those of the nodes that wanted(node) is true for. Those of which the filter leaves
  // nothing would only be in the way.
  show(bars, nodes, wanted) {
    if (nodes.some((node) => !bars[node.b])) bars = [...bars, apart];
    const groups = bars.map(() => [[], [], [], []]);
    let shown = 0;
    for (const node of nodes) {
      if (!wanted(node)) continue;
      (groups[node.b] ?? groups.at(-1))[node.g]?.push(node);
      shown++;
    }
    keyed(this.parent, bars, keyOf, (bar) => this.#make(bar), (section, bar) => this.#update(bar));
    const keys = new Set(bars.map(keyOf));
    for (const key of this.#bars.keys()) if (!keys.has(key)) this.#bars.delete(key);
    bars.forEach((bar, i) => {
      const made = this.#bars.get(keyOf(bar));
      const empty = groups[i].every((group) => group.length === 0);
      setShown(made.none, empty);
      setShown(made.section, !empty || shown === nodes.length);
      made.grid.show(groups[i], shown);
    });
    return shown;
  }

  #make(bar) {
    const { name } = bar;
    const made = {
      grid: new Grid(name, this.on),
      numbers: el("p", { class: "numbers" }),
      parts: ["complete", "erroring", "in-progress"].map((part) => el("span", { class: part })),
      none: el("p", { class: "none" }, "No node to show here."),
    };
    made.bar = el("div", { class: "bar", role: "progressbar", "aria-label": `Complete in ${name}`, "aria-valuemin": "0" }, ...made.parts);
    this.#bars.set(keyOf(bar), made);
    return made.section = el("section", { class: "compartment", "aria-label": name },
      el("h3", {}, name), made.numbers, made.bar, made.grid.list, made.none);
  }

  #update(bar) {
    const made = this.#bars.get(keyOf(bar));
    setShown(made.bar, !bar.none);
    if (bar.none) return;
    const numbers = [
      `${bar.completed} of ${bar.matched} complete`,
      bar.inProgress > 0 && `${bar.inProgress} in progress`,
      bar.erroring > 0 && `${bar.erroring} erroring`,
      `budget ${bar.ceiling}`,
      bar.batch && !bar.batch.endsWith("stopped") && `batch ${bar.batch}`,
    ].filter(Boolean).join(" · ");
    const stopped = bar.batch?.endsWith("stopped") ? `batch ${bar.batch}` : "";
    keyed(made.numbers, [numbers, stopped].filter(Boolean), (text) => (text === stopped ? "stopped" : "numbers"),
      (text) => el("span", { class: text === stopped ? "badge erroring" : "" }), setText);
    const total = Math.max(1, bar.matched);
    [bar.completed, bar.erroring, bar.inProgress].forEach((n, i) => { made.parts[i].style.width = `${100 * n / total}%`; });
    made.bar.setAttribute("aria-valuemax", total);
    made.bar.setAttribute("aria-valuenow", bar.completed);
    made.bar.setAttribute("aria-valuetext", numbers);
  }
}
