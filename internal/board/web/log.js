import { ask } from "./ask.js";
import { el, keyed, setShown, setText } from "./dom.js";

// Log is the end of what the pods of a package printed on a node.
export class Log {
  #asked = 0;

  constructor() {
    this.from = el("p", { class: "from" });
    this.text = el("pre", { tabindex: "0", role: "region", "aria-label": "Log" });
    this.choose = el("select", { change: () => this.read() });
    this.element = el("section", { class: "log", hidden: true },
      el("div", { class: "row" }, el("h3", {}, "Log"), el("label", {}, "Package ", this.choose),
        el("button", { type: "button", click: () => this.read() }, "Refresh")),
      this.from, this.text);
  }

  clear() {
    this.#asked++;
    setShown(this.element, false);
    this.choose.replaceChildren();
  }

  // show offers the logs of packages, and reads the one that is chosen if it was not before.
  show(skyhook, node, packages) {
    const before = this.choose.value;
    Object.assign(this, { skyhook, node });
    keyed(this.choose, packages, (name) => name, (name) => el("option", { value: name }, name), () => {});
    setShown(this.element, packages.length > 0);
    if (packages.length > 0 && this.choose.value !== before) this.read();
  }

  async read() {
    const asked = ++this.#asked;
    setText(this.from, "Reading the log…");
    const answer = await ask("logs", { skyhook: this.skyhook, node: this.node, package: this.choose.value });
    if (asked !== this.#asked) return;
    setText(this.from, answer.message ?? answer.from ?? "");
    setShown(this.text, answer.message === undefined);
    setText(this.text, answer.text || "The log is empty.");
    this.text.scrollTop = this.text.scrollHeight;
  }
}
