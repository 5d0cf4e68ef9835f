// The picture of the cluster, as the server tells it: the whole first, then what changed.

const again = 1000;

// Live keeps the state and says when it changed: on.picture(state), on.lost(sentence) and on.found().
export class Live {
  #source;
  #timer;
  #nodes = new Map();
  #failed = false;
  state = null;

  constructor(on) {
    this.on = on;
  }

  // show turns to a Skyhook; without a name the server chooses.
  show(name) {
    this.name = name;
    this.#source?.close();
    clearTimeout(this.#timer);
    const source = new EventSource(`/api/events?skyhook=${encodeURIComponent(name)}`);
    this.#source = source;
    source.addEventListener("board", (event) => this.#board(JSON.parse(event.data)));
    source.addEventListener("change", (event) => this.#change(JSON.parse(event.data)));
    source.addEventListener("fail", (event) => this.#lost(JSON.parse(event.data).message));
    source.addEventListener("error", () => this.#retry());
  }

  // #retry asks for the same Skyhook again. EventSource would do so by itself, but not after every kind of answer.
  #retry() {
    this.#source.close();
    this.#lost("The connection to kubectl skyhook board is lost. If it has ended, start it again and open its new address.");
    this.#timer = setTimeout(() => this.show(this.state?.skyhook?.name ?? this.name), again);
  }

  #lost(message) {
    this.#failed = true;
    this.on.lost(message, this.state?.at);
  }

  #board(board) {
    this.#nodes = new Map((board.nodes ?? []).map((node) => [node.n, node]));
    this.state = { ...board, skyhooks: board.skyhooks ?? [] };
    this.#changed();
  }

  #change(change) {
    for (const node of change.nodes ?? []) this.#nodes.set(node.n, node);
    for (const name of change.gone ?? []) this.#nodes.delete(name);
    const { nodes, gone, ...rest } = change;
    Object.assign(this.state, rest);
    this.#changed(change);
  }

  #changed(change) {
    if (this.#failed) this.on.found();
    this.#failed = false;
    this.on.picture(this.state, change);
  }

  get nodes() {
    return this.#nodes;
  }
}
