import { el, keyed, setText } from "./dom.js";
import { Layout, sizeFor } from "./layout.js";
import { stamp, write } from "./sprites.js";
import { words } from "./statuses.js";

// gap is between squares; small is how far apart they are in a small fleet.
const gap = 2, small = 24;
let count = 0;

// describe says of a node what a square shows and does not show.
export function describe(node) {
  const parts = [node.n, words(node.s)];
  if (node.t) parts.push(node.t);
  if (node.r) parts.push(node.r);
  if (node.p) parts.push(`${node.p} packages complete`);
  if (node.c) parts.push("cordoned");
  return parts.join(", ");
}

// doing is what a tile says of a node below its name.
const doing = (node) => [node.t, node.r].filter(Boolean).join(" · ") || words(node.s);

// Grid shows the nodes of a compartment as squares, or as tiles with their names. To the keyboard and to screen readers it
// is a list box of which only the option at the position exists. Only what is on the screen is drawn, so its size costs
// nothing.
export class Grid {
  #layout = new Layout([[], [], [], []], sizeFor(1, 1), 1);
  #position = "";
  #drawn = {};
  #id = `grid-${count++}`;

  // on: open(node), opened(), the name of the node that is open, and tip(node, rect), which gets nothing where no node is
  // pointed to.
  constructor(title, on) {
    this.on = on;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.captions = el("div", { "aria-hidden": "true" });
    this.list = el("div", {
      class: "grid", role: "listbox", tabindex: "0", "aria-label": `Nodes of ${title}`, "aria-orientation": "horizontal",
      keydown: (event) => this.#key(event),
      focus: () => this.#moved(),
      blur: () => on.tip(),
      mousemove: (event) => this.#point(event),
      mouseleave: () => on.tip(),
      click: (event) => this.#click(event),
    }, this.canvas, this.captions);
    this.option = el("div", { class: "position", role: "option", "aria-selected": "true" });
  }

  // show lays the nodes out, in four groups; shown are those of all grids, which look alike. The position stays at its node
  // as long as that is there.
  show(groups, shown) {
    const before = this.#index();
    this.groups = groups;
    this.shown = shown;
    this.list.hidden = groups.every((group) => group.length === 0); // what is hidden has no width
    this.width = this.list.clientWidth;
    this.#layout = new Layout(groups, sizeFor(shown, this.width), this.width || 1);
    this.list.style.height = `${this.#layout.height}px`;
    keyed(this.captions, this.#layout.groups, (g) => g.g, () => el("span", { class: "caption" }), (caption, g) => {
      setText(caption, `${g.title} · ${g.count}`);
      caption.style.top = `${g.top - 22}px`;
    });
    if (this.#index() < 0) this.#position = this.#layout.nodes[Math.max(0, Math.min(before, this.#layout.nodes.length - 1))]?.n ?? "";
    this.#mark();
    this.#drawn = {};
    this.draw();
  }

  // resized lays out again if the width is another one.
  resized() {
    if (this.groups && this.list.clientWidth !== this.width) this.show(this.groups, this.shown);
  }

  // redraw is for new colours.
  redraw() {
    this.#drawn = {};
    this.draw();
  }

  // draw draws what is on the screen and half a screen around it.
  draw() {
    const box = this.list.getBoundingClientRect(), margin = innerHeight / 2, { high, words } = this.#layout.size;
    const top = Math.max(0, Math.floor((-box.top - margin) / high) * high);
    const bottom = Math.min(this.#layout.height, Math.ceil((innerHeight - box.top + margin) / high) * high);
    if (bottom <= top || top === this.#drawn.top && bottom === this.#drawn.bottom) return;
    this.#drawn = { top, bottom };
    const scale = devicePixelRatio, canvas = this.canvas;
    canvas.width = Math.ceil(box.width * scale);
    canvas.height = Math.ceil((bottom - top) * scale);
    canvas.style.width = `${canvas.width / scale}px`;
    canvas.style.top = `${top}px`;
    const c = canvas.getContext("2d");
    this.#layout.each(top, bottom, (node, x, y) => (words ? this.#tile(c, node, x, y - top) : stamp(c, node, high - gap, x, y - top)));
  }

  // #tile draws a square of the usual size in the middle of the tile's height, and what is with the node beside it.
  #tile(c, node, x, y) {
    const { wide, high } = this.#layout.size, inset = (high - small) / 2;
    stamp(c, node, small - gap, x + inset, y + inset);
    write(c, [node.n, doing(node)], x + inset + small + 4, y, wide - small - 2 * inset, high - gap);
  }

  get current() {
    return this.#layout.nodes[this.#index()];
  }

  // go moves the position to a node, if it is here.
  go(name) {
    const here = this.#layout.nodes.some((node) => node.n === name);
    if (here) this.#position = name;
    this.#mark();
    return here;
  }

  // focus moves the position and the focus to a node, if it is here.
  focus(name) {
    if (!this.go(name)) return false;
    this.list.focus({ preventScroll: true });
    this.option.scrollIntoView({ block: "nearest" });
    return true;
  }

  #index() {
    return this.#layout.nodes.findIndex((node) => node.n === this.#position);
  }

  // #mark puts the option to the position.
  #mark() {
    const index = this.#index();
    if (index < 0) return void this.option.remove();
    const node = this.#layout.nodes[index], { x, y } = this.#layout.place(index), style = this.option.style;
    style.transform = `translate(${x - 2}px, ${y - 2}px)`;
    style.width = `${this.#layout.size.wide - gap + 4}px`;
    style.height = `${this.#layout.size.high - gap + 4}px`;
    this.option.classList.toggle("opened", node.n === this.on.opened());
    this.option.setAttribute("aria-label", `${describe(node)}, ${this.#layout.groupOf(index).title.toLowerCase()}`);
    this.option.setAttribute("aria-posinset", index + 1);
    this.option.setAttribute("aria-setsize", this.#layout.nodes.length);
    // Another id is another option: that is what makes a screen reader read it.
    this.option.id = `${this.#id}-${index}`;
    this.list.append(this.option);
    this.list.setAttribute("aria-activedescendant", this.option.id);
  }

  #moved() {
    this.#mark();
    this.option.scrollIntoView({ block: "nearest" });
    if (this.current && this.list.matches(":focus-visible")) this.on.tip(this.current, this.option.getBoundingClientRect());
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.current) return;
    const index = this.#index(), last = this.#layout.nodes.length - 1, page = Math.max(1, Math.floor(innerHeight / this.#layout.size.high / 2));
    const to = {
      ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: last,
      ArrowDown: () => this.#layout.below(index, 1), ArrowUp: () => this.#layout.below(index, -1),
      PageDown: () => this.#layout.below(index, page), PageUp: () => this.#layout.below(index, -page),
    }[event.key];
    if (event.key === "Enter" || event.key === " ") this.on.open(this.current);
    else if (to === undefined) return;
    else {
      const target = typeof to === "function" ? to() : to;
      this.#position = this.#layout.nodes[Math.max(0, Math.min(last, target))].n;
      this.#moved();
    }
    event.preventDefault();
  }

  #under(event) {
    const box = this.list.getBoundingClientRect();
    return this.#layout.at(event.clientX - box.left, event.clientY - box.top);
  }

  #point(event) {
    const index = this.#under(event);
    this.list.classList.toggle("over", index >= 0);
    if (index < 0) return this.on.tip();
    const box = this.list.getBoundingClientRect(), { x, y } = this.#layout.place(index), { wide, high } = this.#layout.size;
    this.on.tip(this.#layout.nodes[index], new DOMRect(box.left + x, box.top + y, wide - gap, high - gap));
  }

  #click(event) {
    const index = this.#under(event);
    if (index < 0) return;
    this.on.open(this.#layout.nodes[index]);
  }
}
