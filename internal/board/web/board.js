import { Bars } from "./bars.js";
import { byId, el, sentence, setShown, setText } from "./dom.js";
import { Filter } from "./filter.js";
import { Head } from "./head.js";
import { Live } from "./live.js";
import { Pane } from "./pane.js";
import { onColours, sign } from "./sprites.js";
import { statuses, words } from "./statuses.js";
import { ago, clock, tick } from "./time.js";
import { tip } from "./tip.js";

// seldom is the least time between two sentences about progress to a screen reader.
const seldom = 30_000;

const bars = new Bars(byId("bars"), { open: (node) => open(node.n), opened: () => pane.node, tip });
const filter = new Filter(() => grids());
const head = new Head({ choose, open });
const pane = new Pane({ closed });
const live = new Live({ picture, lost, found, beat });
let said = { at: 0, far: "" };

// awaited is the node to open as soon as there is a picture.
let awaited = "";

function choose(name) {
  pane.leave();
  awaited = "";
  address("pushState", name);
  live.show(name);
}

function open(name) {
  if (!live.shown) return; // another Skyhook is about to be
  if (pane.node) address("replaceState", live.name, name, history.state);
  else address("pushState", live.name, name, { opened: true });
  tip();
  pane.open(live.name, name);
  bars.go(name);
}

function closed(name, opener) {
  if (history.state?.opened) history.back();
  else address("replaceState", live.name);
  focusOn(name, opener);
}

// place is the Skyhook in the address, and the node that is open, each empty if there is none: Back and a reload lead to
// them.
function place() {
  try {
    const [skyhook = "", node = ""] = location.hash.slice(1).split("/").map(decodeURIComponent);
    return { skyhook, node };
  } catch {
    return { skyhook: "", node: "" };
  }
}

// address changes it without a reload; how is pushState where Back shall lead to what is there now.
function address(how, skyhook, node = "", state = null) {
  const hash = `#${[skyhook, node].filter(Boolean).map(encodeURIComponent).join("/")}`;
  if (hash !== location.hash) history[how](state, "", hash);
}

// turn shows what the address says.
function turn() {
  const { skyhook, node } = place();
  awaited = node;
  if (skyhook !== live.name) {
    pane.leave();
    live.show(skyhook);
  } else if (!node) pane.close();
  else if (node !== pane.node) arrive();
}

// arrive opens the node that is awaited.
function arrive() {
  if (!awaited || !live.shown) return;
  open(awaited);
  awaited = "";
}

// focusOn gives the focus back to what opened a node: a link to it, or its grid; to a field that is always there if
// neither is shown any more.
function focusOn(name, opener) {
  if (opener?.matches(".link") && opener.checkVisibility()) opener.focus();
  else if (!bars.grids.some((grid) => grid.focus(name))) byId("find").focus();
}

function picture(state, change) {
  setShown(byId("loading"), false);
  head.show(state);
  for (const id of ["filter", "legend"]) setShown(byId(id), live.nodes.size > 0);
  filter.counts(state.skyhook?.nodes);
  setText(byId("empty"), emptiness(state));
  setShown(byId("empty"), byId("empty").textContent !== "");
  grids();
  if (!place().skyhook && live.name) address("replaceState", live.name);
  arrive();
  tick();
  speak(state, change);
  if (!change || touches(change, pane.node)) pane.changed();
  else if (change.skyhook) pane.stirred();
}

// touches reports whether a change is one of a node, which may look the same.
const touches = ({ gone, nodes, details }, name) =>
  gone?.includes(name) || details?.includes(name) || nodes?.some((node) => node.n === name);

function emptiness(state) {
  if (!state.skyhook && state.skyhooks.length > 0) return `There is no Skyhook ${live.name}. Choose one of those that exist.`;
  if (!state.skyhook) return "No Skyhooks found";
  const none = live.nodes.size === 0 && !state.skyhook.nodes.total; // else they may not be read
  return none ? `No node is selected by Skyhook ${state.skyhook.name}.` : "";
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

// lost says why the picture is old, and since when; without a time, it is not old but lacks something.
function lost(message, since) {
  const old = since ? ` This picture is of ${clock(since)}.` : "";
  setText(byId("lost"), sentence(message) + old);
  setShown(byId("lost"), true);
  setShown(byId("loading"), false);
  document.body.classList.toggle("old", Boolean(since));
}

function found() {
  pane.changed(); // it may not have been read meanwhile
  setShown(byId("lost"), false);
  document.body.classList.remove("old");
}

// age says how old the picture is. It is no live region: a screen reader would read it each second.
function age() {
  setShown(byId("age"), Boolean(live.right));
  if (!live.right) return;
  setText(byId("age"), live.old ? `no update for ${ago(live.right)}` : `updated ${ago(live.right)} ago`);
}

// beat lets times pass where nothing happens.
function beat() {
  tick();
  if (live.state) head.show(live.state);
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
addEventListener("popstate", turn);
onColours(() => bars.redraw());
setInterval(age, 1000);
legend();
turn();
