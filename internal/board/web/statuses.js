// What each status of a node is called, and the sign that tells it without a colour. Colours are in board.css.

const stroke = (c, s, ...lines) => {
  c.lineWidth = Math.max(1.5, s / 8);
  c.lineCap = "round";
  c.beginPath();
  for (const line of lines) line.forEach(([x, y], i) => (i ? c.lineTo(x * s, y * s) : c.moveTo(x * s, y * s)));
  c.stroke();
};

const fill = (c, s, points) => {
  c.beginPath();
  points.forEach(([x, y], i) => (i ? c.lineTo(x * s, y * s) : c.moveTo(x * s, y * s)));
  c.fill();
};

// statuses in the order in which they are counted; draw draws the sign into a square with sides of s.
export const statuses = [
  { id: "complete", words: "complete", draw: (c, s) => stroke(c, s, [[0.26, 0.53], [0.43, 0.7], [0.75, 0.32]]) },
  { id: "in_progress", words: "in progress", draw: (c, s) => fill(c, s, [[0.34, 0.24], [0.78, 0.5], [0.34, 0.76]]) },
  { id: "erroring", words: "erroring", draw: (c, s) => stroke(c, s, [[0.3, 0.3], [0.7, 0.7]], [[0.7, 0.3], [0.3, 0.7]]) },
  { id: "waiting", words: "waiting", hollow: true, draw: (c, s) => fill(c, s, [[0.4, 0.4], [0.6, 0.4], [0.6, 0.6], [0.4, 0.6]]) },
  { id: "blocked", words: "blocked", draw: (c, s) => stroke(c, s, [[0.26, 0.5], [0.74, 0.5]]) },
  { id: "paused", words: "paused", draw: (c, s) => stroke(c, s, [[0.37, 0.3], [0.37, 0.7]], [[0.63, 0.3], [0.63, 0.7]]) },
  { id: "disabled", words: "disabled", hollow: true, draw: (c, s) => stroke(c, s, [[0.26, 0.74], [0.74, 0.26]]) },
  {
    id: "unknown", words: "unknown", hollow: true,
    draw: (c, s) => stroke(c, s, [[0.36, 0.36], [0.5, 0.24], [0.64, 0.36], [0.5, 0.55]], [[0.5, 0.74], [0.5, 0.75]]),
  },
];

const known = new Map(statuses.map((status) => [status.id, status]));

// statusOf is the status with an id; one that this page does not know is unknown.
export const statusOf = (id) => known.get(id) ?? known.get("unknown");

// words are an id as people write it, whatever it is.
export const words = (id) => known.get(id)?.words ?? String(id ?? "").replaceAll("_", " ");

// counted is how many nodes have each status, by the names that the API has for the counts.
export const counted = (counts, id) => counts?.[id === "in_progress" ? "inProgress" : id] ?? 0;
