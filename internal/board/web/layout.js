// Where the squares of a compartment stand: groups one below the other, each in rows, with a caption above.

const caption = 26;
const titles = ["Current batch", "Erroring or blocked", "Waiting", "Complete"];

// tiles have room for words beside the square; mostRows of them at most, so that a page shows them all.
const tile = { wide: 232, high: 44, words: true }, mostRows = 10;

const square = (side) => ({ wide: side, high: side, words: false });

// sizeFor is how far apart nodes stand in a grid of a width: tiles while they fit, else squares, the more the smaller.
export function sizeFor(nodes, width) {
  if (nodes <= mostRows * Math.floor(width / tile.wide)) return tile;
  return square(nodes <= 600 ? 24 : nodes <= 2000 ? 20 : 16);
}

export class Layout {
  // groups are four lists of nodes; size is how far apart they stand, width that of the grid.
  constructor(groups, size, width) {
    this.size = size;
    this.columns = Math.max(1, Math.floor(width / size.wide));
    this.nodes = groups.flat();
    this.groups = [];
    let top = 0, first = 0;
    groups.forEach((nodes, g) => {
      if (nodes.length === 0) return;
      top += caption;
      const rows = Math.ceil(nodes.length / this.columns);
      this.groups.push({ g, title: titles[g], first, count: nodes.length, top, rows });
      first += nodes.length;
      top += rows * size.high + 4;
    });
    this.height = top;
  }

  groupOf(index) {
    return this.groups.find((group) => index < group.first + group.count);
  }

  // place is the upper left corner of a square.
  place(index) {
    const group = this.groupOf(index), i = index - group.first;
    return { x: (i % this.columns) * this.size.wide, y: group.top + Math.floor(i / this.columns) * this.size.high };
  }

  // at is the index of the square at a point; -1 where there is none.
  at(x, y) {
    const { wide, high } = this.size, column = Math.floor(x / wide);
    const group = this.groups.find(({ top, rows }) => y >= top && y < top + rows * high);
    if (!group || column < 0 || column >= this.columns) return -1;
    const i = Math.floor((y - group.top) / high) * this.columns + column;
    return i < group.count ? group.first + i : -1;
  }

  // below is the square so many rows further down, or up, in the same column; the last one there if there are fewer.
  below(index, rows) {
    const step = Math.sign(rows);
    for (let left = Math.abs(rows); left > 0; left--) {
      const next = this.#next(index, step);
      if (next < 0) break;
      index = next;
    }
    return index;
  }

  #next(index, step) {
    const group = this.groupOf(index), i = index - group.first, column = i % this.columns;
    const row = Math.floor(i / this.columns) + step;
    const into = row >= 0 && row < group.rows ? group : this.groups[this.groups.indexOf(group) + step];
    if (!into) return -1;
    const target = into === group ? row : step > 0 ? 0 : into.rows - 1;
    return into.first + Math.min(target * this.columns + column, into.count - 1);
  }

  // each calls back for the squares between two heights.
  each(from, to, draw) {
    const { wide, high } = this.size;
    for (const { first, count, top } of this.groups) {
      const begin = Math.max(0, Math.floor((from - top) / high)) * this.columns;
      const end = Math.min(count, Math.ceil((to - top) / high) * this.columns);
      for (let i = begin; i < end; i++) {
        draw(this.nodes[first + i], (i % this.columns) * wide, top + Math.floor(i / this.columns) * high);
      }
    }
  }
}
