import { byId, el, setShown, setText } from "./dom.js";
import { sign } from "./sprites.js";
import { counted, statuses } from "./statuses.js";

// Filter narrows the grids to nodes by name and status. Its buttons show the counts of each status as well.
export class Filter {
  #wanted = new Set();
  #find = byId("find");
  #buttons = new Map();

  constructor(changed) {
    this.#find.addEventListener("input", changed);
    byId("filter").addEventListener("submit", (event) => event.preventDefault());
    for (const { id } of statuses) {
      const label = el("span");
      const button = el("button", { type: "button", "aria-pressed": "false", click: () => this.#toggle(id, changed) }, sign(id), label);
      this.#buttons.set(id, { button, label });
      byId("statuses").append(button);
    }
  }

  #toggle(id, changed) {
    if (!this.#wanted.delete(id)) this.#wanted.add(id);
    this.#buttons.get(id).button.setAttribute("aria-pressed", this.#wanted.has(id));
    changed();
  }

  // counts shows the numbers of nodes by status; statuses without nodes need no button.
  counts(nodes) {
    for (const { id, words } of statuses) {
      const n = counted(nodes, id), { button, label } = this.#buttons.get(id);
      setText(label, `${n} ${words}`);
      setShown(button, n > 0 || this.#wanted.has(id));
    }
  }

  // wanted is the function that says whether a node is shown.
  wanted() {
    const part = this.#find.value.trim().toLowerCase(), some = this.#wanted;
    return (node) => (some.size === 0 || some.has(node.s)) && (part === "" || node.n.toLowerCase().includes(part));
  }

  // tell says how many nodes are left.
  tell(shown, total) {
    setText(byId("shown"), shown === total ? "" : `${shown} of ${total} nodes shown`);
  }
}
