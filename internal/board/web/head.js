import { byId, el, keyed, marked, setShown, setText } from "./dom.js";
import { sign } from "./sprites.js";
import { words } from "./statuses.js";
import { ago } from "./time.js";

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
    document.title = skyhook ? `${skyhook.name}: ${skyhook.far}` : "Skyhook board";
    setShown(byId("warning"), Boolean(state.warning));
    byId("warning").replaceChildren(...marked(state.warning ?? ""));
    this.#chooser(skyhooks, skyhook);
    setShown(byId("summary"), Boolean(skyhook));
    if (skyhook) this.#summary(skyhook);
  }

  #chooser(skyhooks, shown) {
    const select = byId("skyhooks");
    setShown(byId("choose"), skyhooks.length > 0);
    keyed(select, skyhooks, (s) => s.name, (s) => el("option", { value: s.name }), (option, s) => {
      setText(option, `${s.name} · ${words(s.status)} · ${s.far}`);
    });
    if (shown && select.value !== shown.name) select.value = shown.name;
  }

  #summary(skyhook) {
    setText(byId("name"), skyhook.name);
    badge(byId("status"), skyhook.status, skyhook.statusWords);
    setText(byId("far"), skyhook.far);
    setText(byId("pace"), skyhook.pace ? `${skyhook.paceLabel}: ${skyhook.pace}` : "");
    keyed(byId("waiting"), skyhook.waiting ?? [], (w) => w.reason + w.message, () => el("li"), (item, w) => {
      const text = `${w.nodes} ${w.reason}${w.message ? `: ${w.message}` : ""}`;
      if (item.dataset.text === text) return;
      item.dataset.text = text;
      item.replaceChildren(el("strong", {}, `${w.nodes} ${w.reason}`), ...marked(w.message ? `: ${w.message}` : ""));
    });
    this.#attention(skyhook.attention ?? []);
  }

  #attention(all) {
    setShown(byId("attention"), all.length > 0);
    keyed(byId("attention").querySelector("ul"), all, (a) => `${a.node} ${a.status}`, (a) => {
      const what = el("span", { class: "what" });
      return el("li", {}, el("button", { type: "button", class: "link", click: () => this.on.open(a.node) }, sign(a.status), a.node), what);
    }, (item, a) => setText(item.querySelector(".what"),
      ` ${[a.reason, a.since && `for ${ago(a.since)}`].filter(Boolean).join(" ")}${a.message ? `: ${a.message}` : ""}`));
  }
}
