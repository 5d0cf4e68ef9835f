import { ask } from "./ask.js";
import { byId, el, marked, sentence, setMarked, setShown, setText } from "./dom.js";
import { badge } from "./head.js";
import { Log } from "./log.js";
import { words } from "./statuses.js";
import { since } from "./time.js";

// A node is read again so long after it changed, or after something around it did, or after reading failed, in
// milliseconds.
const pause = 500, seldom = 5000, retry = 2000;

// wide is where the pane has room beside the grids; elsewhere it covers them.
const wide = matchMedia("(min-width: 70rem)");

// enders are who ends a cause, by the words that programs get for them.
const enders = {
  time: "it ends by itself", node: "something else on the node", other: "another node, Skyhook or workload",
  administrator: "an administrator", author: "the author of the Skyhook", "package author": "the author of the package",
};

// Pane tells everything of one node.
export class Pane {
  #element = byId("pane");
  #timer;
  // #due is when the node is read again. #reading can end that it is read; #wanted is how long after that it is read again.
  #due = Infinity;
  #reading;
  #wanted;

  // on.closed(node name, element) is called when a person closes it; the element had the focus before.
  constructor(on) {
    this.on = on;
    this.title = el("h2", { id: "node", tabindex: "-1" });
    this.status = el("span");
    this.wrong = el("p", { class: "notice bad", role: "status", hidden: true });
    this.body = el("div", { class: "told" });
    this.log = new Log();
    this.#element.append(
      el("div", { class: "top" }, this.title,
        el("button", { type: "button", class: "close", "aria-label": "Close", click: () => this.close() }, "✕")),
      el("p", { class: "status" }, this.status, this.packages = el("span")),
      this.wrong, this.body, this.log.element,
    );
    wide.addEventListener("change", () => this.#cover());
    this.#element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  get node() {
    return this.#element.hidden ? "" : this.name;
  }

  // open shows a node of a Skyhook and takes the focus.
  open(skyhook, name) {
    const other = this.#element.hidden || name !== this.name || skyhook !== this.skyhook;
    if (this.#element.hidden) this.opener = document.activeElement;
    Object.assign(this, { skyhook, name });
    setText(this.title, name);
    setShown(this.#element, true);
    this.#cover();
    this.title.focus({ preventScroll: true });
    if (other) {
      this.#element.scrollTop = 0;
      this.told = "";
      this.body.replaceChildren(el("p", {}, "Reading the node…"));
      setShown(this.wrong, false);
      this.status.replaceChildren();
      setText(this.packages, "");
      this.log.clear();
    }
    this.#read();
  }

  close() {
    if (this.#element.hidden) return;
    this.leave();
    this.on.closed(this.name, this.opener);
  }

  // leave closes it without giving the focus back.
  leave() {
    setShown(this.#element, false);
    this.#cover();
    this.#rest();
    this.#reading?.abort();
    this.#reading = undefined;
  }

  // #cover makes room for the pane; what it covers cannot have the focus.
  #cover() {
    const open = !this.#element.hidden;
    document.body.classList.toggle("split", open);
    for (const part of document.querySelectorAll("header, main, footer")) part.inert = open && !wide.matches;
  }

  #rest() {
    clearTimeout(this.#timer);
    this.#due = Infinity;
  }

  // changed reads the node again soon, and stirred later: what is around it changes all the time.
  changed() {
    this.#again(pause);
  }

  stirred() {
    this.#again(seldom);
  }

  // #again reads nothing in a page that nobody sees: whoever comes back to it gets a new picture, which reads the node.
  #again(after) {
    const due = performance.now() + after;
    if (this.#reading) this.#wanted = Math.min(this.#wanted, after);
    if (this.#element.hidden || document.hidden || this.#reading || this.#due <= due) return;
    this.#rest();
    this.#due = due;
    this.#timer = setTimeout(() => this.#read(), after);
  }

  async #read() {
    this.#rest();
    this.#reading?.abort(); // the board reads one node after the other
    const reading = this.#reading = new AbortController();
    this.#wanted = Infinity;
    const answer = await ask("node", { skyhook: this.skyhook, node: this.name }, reading.signal);
    if (reading.signal.aborted) return;
    this.#reading = undefined;
    if (this.#failed(answer.message)) this.#again(retry);
    else this.#show(answer);
    if (this.#wanted < Infinity) this.#again(this.#wanted);
  }

  #show(answer) {
    badge(this.status, answer.status);
    setText(this.packages, [
      `${answer.packagesComplete} of ${answer.packagesTotal} packages complete`,
      answer.unschedulable && "cordoned",
    ].filter(Boolean).join(" · "));
    // Nothing moves under the hand of who reads or copies if nothing changed.
    const told = JSON.stringify(answer);
    if (told === this.told) return;
    this.told = told;
    const at = this.body.contains(document.activeElement) && nameOf(document.activeElement);
    this.body.replaceChildren(...causes(answer), ...runs(answer), ...packages(answer), ...details(answer), ...commands(answer));
    if (at) ([...this.body.querySelectorAll("button, [tabindex]")].find((e) => nameOf(e) === at) ?? this.title).focus({ preventScroll: true });
    this.log.show(this.skyhook, this.name, answer.logs ?? []);
  }

  // #failed says why the node cannot be read, and keeps what was read before: somebody may be at it.
  #failed(message) {
    setShown(this.wrong, message !== undefined);
    setMarked(this.wrong, message ? sentence(message) + (this.told ? " What follows was read before." : "") : "");
    if (message !== undefined && !this.told) this.body.replaceChildren();
    return message !== undefined;
  }
}

// nameOf is what a screen reader calls an element, and so tells it from all others of the pane.
const nameOf = (element) => element.ariaLabel ?? element.textContent;

const causes = ({ causes = [] }) => causes.map((cause) => el("section", { class: "cause" },
  el("h3", {}, cause.reason + (cause.package ? ` · package ${cause.package}` : "")),
  el("p", { class: "message" }, cause.message),
  el("dl", {},
    ...row("Since", cause.since && since(cause.since)),
    ...row("Who ends it", cause.endedBy?.split(", ").map((who) => enders[who] ?? who).join(", or ")),
    ...row("What helps", cause.do)),
  cause.command && command(cause.runOnNode ? "Run on the node" : "Command", cause.command)));

// runs are stages that run: nothing holds them, but a script may hang.
const runs = ({ running = [] }) => running.map((run) => el("section", { class: "cause" },
  el("h3", {}, `${run.stage} of ${run.package} ${run.version} runs`),
  el("dl", {}, ...row("Since", since(run.since))),
  command("What it prints", run.command)));

const row = (name, what) => (what ? [el("dt", {}, name), el("dd", {}, ...(typeof what === "string" ? marked(what) : [what]))] : []);

function packages({ packages = [] }) {
  if (packages.length === 0) return [];
  const head = ["Package", "Version", "Stage", "State", "Restarts"];
  return [el("h3", {}, "Packages"), el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Packages" },
    el("table", {},
      el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...packages.map((p) => el("tr", { title: p.image },
        el("th", { scope: "row" }, p.name), el("td", {}, p.version), el("td", {}, p.stage),
        el("td", {}, words(p.state)), el("td", { class: "number" }, String(p.restarts ?? 0)))))))];
}

const details = ({ details = [] }) => (details.length ? [
  el("h3", {}, "Details"), el("ul", {}, ...details.map((line) => el("li", { class: "message" }, ...marked(line)))),
] : []);

const commands = ({ commands = [] }) => (commands.length ? [
  el("h3", {}, "Commands"), ...commands.map((c) => command(c.label, c.command)),
] : []);

// command is a command line with a button that copies it.
function command(label, line) {
  const code = el("code", { tabindex: "0" }, line);
  const button = el("button", { type: "button", "aria-label": `Copy ${line}`, click: () => copy(line, code, button) }, "Copy");
  return el("div", { class: "command" }, el("span", { class: "label" }, label), code, button);
}

// copy copies a line; where the browser forbids it, it selects the line for a person to copy.
async function copy(line, code, button) {
  try {
    await navigator.clipboard.writeText(line);
    setText(button, "Copied");
    setText(byId("live"), "Copied");
  } catch {
    getSelection().selectAllChildren(code);
    setText(button, "Selected");
  }
  setTimeout(() => setText(button, "Copy"), 2000);
}
