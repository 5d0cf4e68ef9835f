import { sync } from "./time.js";

// The picture of the cluster, as the server tells it: the whole first, then what changed.

// again is the time until a page asks again that somebody looks at.
const again = 1000;

// silent is how long the server, which sends four beats in that time, may say nothing; look is how often that is checked.
const silent = 20_000, look = 2500;

// seldom is how often a page asks that nobody sees: a browser has at most six connections to a server, for all its tabs,
// and each page that follows takes one.
const seldom = 15_000;

// Live keeps the state and says when it changed: on.picture(state, change), on.lost(sentence, since), on.found() and on.beat().
export class Live {
  #source;
  #timer;
  #heard;
  // #failing is whether the server says that the picture is not right any more.
  #failing = false;
  // right is when the picture was right last, and old whether it is not any more.
  right;
  old = false;
  // name is that of the Skyhook to show; state is of another one until there is a picture of it.
  name;
  state = null;
  nodes = new Map();

  constructor(on) {
    this.on = on;
    // A connection that breaks while the machine sleeps may never tell. The clock goes on meanwhile; timers do not.
    setInterval(() => { if (!this.#resting && Date.now() - this.#heard > silent) this.#retry(); }, look);
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#rest() : this.show(this.name)));
  }

  // shown is the Skyhook to show, if there is a picture of it.
  get shown() {
    return this.state?.name === this.name ? this.state.skyhook : undefined;
  }

  // show turns to a Skyhook; without a name the server chooses.
  show(name) {
    this.#close();
    this.name = name;
    this.#heard = Date.now();
    this.#failing = false;
    const source = this.#source = new EventSource(`api/events?skyhook=${encodeURIComponent(name)}`);
    const hear = (event, call) => source.addEventListener(event, ({ data }) => {
      this.#heard = Date.now();
      call(JSON.parse(data));
    });
    hear("board", (board) => this.#board(board));
    hear("change", (change) => this.#change(change));
    hear("fail", (failure) => this.#fail(failure));
    hear("beat", ({ at }) => this.#beat(at));
    source.addEventListener("error", () => this.#retry());
  }

  #close() {
    this.#source?.close();
    clearTimeout(this.#timer);
  }

  get #resting() {
    return this.#source.readyState === EventSource.CLOSED;
  }

  // #retry asks for the same Skyhook again. EventSource would do so by itself, but not after every kind of answer.
  #retry() {
    this.#rest();
    this.#lost("The connection to kubectl skyhook board is lost. If it has ended, start it again and open its new address.", this.right);
  }

  // #rest asks for the same Skyhook again later.
  #rest() {
    this.#close();
    this.#timer = setTimeout(() => this.show(this.name), document.hidden ? seldom : again);
  }

  #fail({ message, since }) {
    this.#failing = message !== "";
    if (this.#failing) this.#lost(message, since);
    else this.#found();
  }

  #lost(message, since) {
    this.old = Boolean(since);
    if (since) this.right = since;
    this.on.lost(message, since);
  }

  #found() {
    this.old = false;
    this.on.found();
  }

  #board(board) {
    if (!this.#failing) this.#found();
    this.nodes = new Map(board.nodes.map((node) => [node.n, node]));
    this.state = board;
    this.name = board.name;
    this.#changed();
    if (document.hidden) this.#rest();
  }

  #change(change) {
    for (const node of change.nodes ?? []) this.nodes.set(node.n, node);
    for (const name of change.gone ?? []) this.nodes.delete(name);
    const { nodes, gone, details, ...rest } = change;
    Object.assign(this.state, rest);
    this.#changed(change);
  }

  #changed(change) {
    this.#at(this.state.at);
    this.on.picture(this.state, change);
  }

  // #beat also ends the rest of what nobody sees: as long as nothing can be read, there is no picture after which to do so.
  #beat(at) {
    this.#at(at);
    this.on.beat();
    if (document.hidden) this.#rest();
  }

  // #at takes the time of a message.
  #at(time) {
    if (this.state && !this.old) this.right = time;
    sync(time);
  }
}
