import { sync } from "./time.js";

// The picture of the cluster, as the server tells it: the whole first, then what changed.

const again = 1000;

// silent is how long the server, which sends four beats in that time, may say nothing; look is how often that is checked.
const silent = 60_000, look = 5000;

// seldom is how often a page asks that nobody sees: a browser has at most six connections to a server, for all its tabs,
// and each page that follows takes one.
const seldom = 15_000;

// Live keeps the state and says when it changed: on.picture(state, change), on.lost(sentence, since), on.found() and on.beat().
export class Live {
  #source;
  #timer;
  #nodes = new Map();
  #heard = Date.now();
  // #right is when the picture was right last, #old that it is not any more.
  #right;
  #old = false;
  state = null;

  constructor(on) {
    this.on = on;
    // A connection that breaks while the machine sleeps may never tell. The clock goes on meanwhile; timers do not.
    setInterval(() => { if (Date.now() - this.#heard > silent) this.#retry(); }, look);
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#rest(seldom) : this.show(this.name)));
  }

  // show turns to a Skyhook; without a name the server chooses.
  show(name) {
    this.name = name;
    this.#heard = Date.now();
    this.#source?.close();
    clearTimeout(this.#timer);
    const source = new EventSource(`api/events?skyhook=${encodeURIComponent(name)}`);
    this.#source = source;
    const hear = (event, call) => source.addEventListener(event, ({ data }) => {
      this.#heard = Date.now();
      call(JSON.parse(data));
    });
    hear("board", (board) => this.#board(board));
    hear("change", (change) => this.#change(change));
    hear("fail", ({ message, since }) => (message ? this.#lost(message, since) : this.#found()));
    hear("beat", ({ at }) => this.#beat(at));
    source.addEventListener("error", () => this.#retry());
  }

  // #retry asks for the same Skyhook again. EventSource would do so by itself, but not after every kind of answer.
  #retry() {
    this.#heard = Date.now();
    this.#rest(again);
    this.#lost("The connection to kubectl skyhook board is lost. If it has ended, start it again and open its new address.", this.#right);
  }

  // #rest asks for the same Skyhook again later.
  #rest(pause) {
    this.#source?.close();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.show(this.name), pause);
  }

  #lost(message, since) {
    this.#old = Boolean(since);
    if (since) this.#right = since;
    this.on.lost(message, since);
  }

  #found() {
    this.#old = false;
    this.on.found();
  }

  #board(board) {
    this.#found();
    this.#nodes = new Map((board.nodes ?? []).map((node) => [node.n, node]));
    this.state = { ...board, skyhooks: board.skyhooks ?? [] };
    this.name = board.skyhook?.name ?? this.name;
    this.#changed();
    if (document.hidden) this.#rest(seldom);
  }

  #change(change) {
    for (const node of change.nodes ?? []) this.#nodes.set(node.n, node);
    for (const name of change.gone ?? []) this.#nodes.delete(name);
    const { nodes, gone, details, ...rest } = change;
    Object.assign(this.state, rest);
    this.#changed(change);
  }

  #changed(change) {
    this.#at(this.state.at);
    this.on.picture(this.state, change);
  }

  #beat(at) {
    this.#at(at);
    this.on.beat();
  }

  // #at takes the time of a message.
  #at(time) {
    if (!this.#old) this.#right = time;
    sync(time);
  }

  get nodes() {
    return this.#nodes;
  }
}
