import { Bars } from "./bars.js";
import { byId, el, setShown, setText } from "./dom.js";
import { Filter } from "./filter.js";
import { Head } from "./head.js";
import { Live } from "./live.js";
import { Pane } from "./pane.js";
import { onColours, sign } from "./sprites.js";
import { statuses, words } from "./statuses.js";
import { clock } from "./time.js";
import { tip } from "./tip.js";

// seldom is the least time between two sentences about progress to a screen reader.
const seldom = 30_000;

const bars = new Bars(byId("bars"), { open: (node) => open(node.n), opened: () => pane.node, tip });
const filter = new Filter(() => grids());
const head = new Head({ choose, open });
const pane = new Pane({ closed: focusOn });
const live = new Live({ picture, lost, found });
let said = { at: 0, far: "" };

function choose(name) {
  pane.leave();
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  live.show(name);
}

function open(name) {
  tip();
  pane.open(live.state.skyhook.name, name);
  bars.go(name);
}

// hash is the Skyhook in the address, if there is one there: a reloaded page shows the same.
function hash() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

// focusOn gives the focus back to a node in its grid; to a field that is always there if it is shown no more.
function focusOn(name) {
  if (!bars.grids.some((grid) => grid.focus(name))) byId("find").focus();
}

function picture(state, change) {
  setShown(byId("loading"), false);
  head.show(state);
  for (const id of ["filter", "legend"]) setShown(byId(id), live.nodes.size > 0);
  filter.counts(state.skyhook?.nodes);
  setText(byId("empty"), emptiness(state));
  setShown(byId("empty"), byId("empty").textContent !== "");
  grids();
  speak(state, change);
  if (!change || change.gone?.includes(pane.node) || change.nodes?.some((node) => node.n === pane.node)) pane.refresh();
}

function emptiness(state) {
  if (!state.skyhook) return "No Skyhooks found";
  return live.nodes.size === 0 ? `No node is selected by Skyhook ${state.skyhook.name}.` : "";
}

function grids() {
  const shown = bars.show(live.state?.skyhook?.bars ?? [], live.nodes.size ? sorted() : [], filter.wanted());
  filter.tell(shown, live.nodes.size);
}

// sorted are the nodes by name, as the server sends them: a change puts new ones to the end.
function sorted() {
  const nodes = [...live.nodes.values()];
  const inOrder = nodes.every((node, i) => i === 0 || nodes[i - 1].n < node.n);
  return inOrder ? nodes : nodes.sort((a, b) => (a.n < b.n ? -1 : 1));
}

// speak tells a screen reader what became of the node that it is at, and now and then how far everything is.
function speak({ skyhook }, change) {
  const at = bars.grids.find((grid) => grid.list === document.activeElement)?.current;
  const here = change?.nodes?.find((node) => node.n === at?.n);
  if (here) return setText(byId("live"), `${here.n}: ${words(here.s)}${here.r ? `, ${here.r}` : ""}`);
  if (!skyhook || skyhook.far === said.far || Date.now() - said.at < seldom) return;
  if (said.at) setText(byId("live"), `${skyhook.name}: ${skyhook.far}`);
  said = { at: Date.now(), far: skyhook.far };
}

function lost(message, since) {
  const old = since ? ` This picture is of ${clock(since)}.` : "";
  setText(byId("lost"), message + old);
  setShown(byId("lost"), true);
  setShown(byId("loading"), false);
  document.body.classList.toggle("old", Boolean(since));
}

function found() {
  setShown(byId("lost"), false);
  document.body.classList.remove("old");
}

function legend() {
  const items = statuses.map(({ id, words }) => el("li", {}, sign(id), words));
  items.push(el("li", {}, sign("waiting", "true"), "cordoned"));
  byId("legend").querySelector("ul").append(...items);
}

let due = false;
function drawSoon() {
  tip();
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; bars.draw(); });
}

addEventListener("scroll", drawSoon, { passive: true });
addEventListener("resize", drawSoon, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") tip(); });
addEventListener("hashchange", () => live.show(hash()));
onColours(() => bars.redraw());
legend();
live.show(hash());
