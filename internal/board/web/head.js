import { byId, el, keyed, marked, sentence, setMarked, setShown, setText } from "./dom.js";
import { sign } from "./sprites.js";
import { words } from "./statuses.js";
import { ago } from "./time.js";

// bad are the statuses that need somebody; most is how many other Skyhooks are named that have one.
const bad = new Set(["erroring", "blocked"]), most = 5;

// badge shows a status with its sign; it is made anew only if the status is another one.
export function badge(parent, status, text = words(status)) {
  keyed(parent, [{ status, text }], (b) => `${b.status} ${b.text}`,
    () => el("span", { class: `badge ${status.replace("_", "-")}` }, sign(status), text), () => {});
}

// Head is what stands above the grids.
export class Head {
  // on: choose(name) and open(node name).
  constructor(on) {
    this.on = on;
    byId("skyhooks").addEventListener("change", (event) => on.choose(event.target.value));
  }

  show(state) {
    const { skyhook, skyhooks } = state;
    setText(byId("cluster"), state.cluster ?? "");
    document.title = skyhook ? `${skyhook.name}: ${skyhook.statusWords}, ${skyhook.far}` : "Skyhook board";
    setShown(byId("warning"), Boolean(state.warning));
    setMarked(byId("warning"), sentence(state.warning ?? ""));
    this.#chooser(skyhooks, skyhook);
    this.#others(skyhooks.filter((s) => s.name !== skyhook?.name && bad.has(s.status)));
    setShown(byId("summary"), Boolean(skyhook));
    if (skyhook) this.#summary(skyhook);
  }

  #chooser(skyhooks, shown) {
    const select = byId("skyhooks");
    setShown(byId("choose"), skyhooks.length > 0);
    const all = shown ? skyhooks : [{ name: "" }, ...skyhooks]; // what is chosen already cannot be chosen
    keyed(select, all, (s) => s.name, (s) => el("option", { value: s.name }), (option, s) => {
      setText(option, s.name ? `${s.name} · ${words(s.status)} · ${s.far}` : "choose one");
    });
    const value = shown?.name ?? "";
    if (select.value !== value) select.value = value;
  }

  // #others leads to the Skyhooks that are not shown, and need somebody.
  #others(all) {
    setShown(byId("others"), all.length > 0);
    keyed(byId("others").querySelector("ul"), all.slice(0, most), (s) => `${s.name} ${s.status}`, (s) => el("li", {},
      el("button", { type: "button", class: "link", click: () => this.on.choose(s.name) }, sign(s.status), `${s.name}: ${words(s.status)}`)), () => {});
    setText(byId("others").querySelector(".more"), all.length > most ? `and ${all.length - most} more in the list of Skyhooks` : "");
  }

  #summary(skyhook) {
    setText(byId("name"), skyhook.name);
    badge(byId("status"), skyhook.status, skyhook.statusWords);
    setText(byId("far"), skyhook.far);
    setText(byId("pace"), skyhook.pace ? `${skyhook.paceLabel}: ${skyhook.pace}` : "");
    keyed(byId("causes"), skyhook.causes ?? [], (c) => c.reason + c.message + c.do, (c) => el("li", { class: "notice" },
      el("strong"), ...marked(c.message && `: ${c.message}`), ...marked(c.do ? ` What helps: ${c.do}` : "")),
    (item, c) => setText(item.querySelector("strong"), c.reason + (c.since ? ` for ${ago(c.since)}` : "")));
    keyed(byId("waiting"), skyhook.waiting ?? [], (w) => w.reason + w.message, () => el("li"), (item, w) => {
      if (item.dataset.nodes === String(w.nodes)) return;
      item.dataset.nodes = w.nodes;
      item.replaceChildren(el("strong", {}, `${w.nodes} ${w.reason}`), ...marked(w.message ? `: ${w.message}` : ""));
    });
    this.#attention(skyhook.attention ?? [], skyhook.nodes);
  }

  // #attention leads to the nodes that need somebody: the first of them, as the status has no more.
  #attention(all, nodes) {
    const more = (nodes?.erroring ?? 0) + (nodes?.blocked ?? 0) - all.filter((a) => bad.has(a.status)).length;
    setShown(byId("attention"), all.length > 0);
    setText(byId("attention").querySelector(".more"),
      all.length > 0 && more > 0 ? `and ${more} more, which the buttons below show: erroring, blocked` : "");
    keyed(byId("attention").querySelector("ul"), all, (a) => a.node, (a) => {
      const what = el("span", { class: "what" });
      return el("li", {}, el("button", { type: "button", class: "link", click: () => this.on.open(a.node) }), what);
    }, (item, a) => {
      if (item.dataset.status !== a.status) item.querySelector(".link").replaceChildren(sign(a.status), a.node);
      item.dataset.status = a.status;
      setText(item.querySelector(".what"),
        ` ${[a.reason, a.since && `for ${ago(a.since)}`].filter(Boolean).join(" ")}${a.message ? `: ${a.message}` : ""}`);
    });
  }
}
