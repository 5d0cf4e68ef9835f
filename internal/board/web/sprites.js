import { el } from "./dom.js";
import { statusOf, statuses } from "./statuses.js";

// Sprites are the squares of one size, drawn once for the colours and the resolution of the screen: a grid only copies them.

const sheets = new Map();
const listeners = new Set();

// square draws the square of a status with sides of size at the origin.
function square(c, status, size, cordoned) {
  const colours = getComputedStyle(document.documentElement);
  const colour = colours.getPropertyValue(`--${status.id.replace("_", "-")}`);
  c.beginPath();
  c.roundRect(0.75, 0.75, size - 1.5, size - 1.5, size / 6);
  c.fillStyle = status.hollow ? colours.getPropertyValue("--surface") : colour;
  c.strokeStyle = colour;
  c.lineWidth = 1.5;
  c.fill();
  c.stroke();
  c.fillStyle = c.strokeStyle = status.hollow ? colour : colours.getPropertyValue("--sign");
  status.draw(c, size);
  if (cordoned) { // a corner that is cut off
    const corner = size * 0.42;
    c.beginPath();
    c.moveTo(size - corner, 0);
    c.lineTo(size, 0);
    c.lineTo(size, corner);
    c.fillStyle = colours.getPropertyValue("--text");
    c.fill();
  }
}

// paint draws into a canvas of a width and height in CSS pixels.
function paint(element, width, height, draw) {
  const scale = devicePixelRatio;
  element.width = Math.ceil(width * scale);
  element.height = Math.ceil(height * scale);
  const c = element.getContext("2d");
  c.scale(scale, scale);
  draw(c);
  return element;
}

// sheet holds all squares of a size: a column for each status, the second row for cordoned nodes.
function sheet(size) {
  if (!sheets.has(size)) {
    sheets.set(size, paint(el("canvas"), size * statuses.length, size * 2, (c) => statuses.forEach((status, i) => {
      for (const cordoned of [0, 1]) {
        c.save();
        c.translate(i * size, cordoned * size);
        square(c, status, size, cordoned);
        c.restore();
      }
    })));
  }
  return sheets.get(size);
}

const columns = new Map(statuses.map((status, i) => [status.id, i]));

// stamp copies the square of a node to a place on a canvas that is not scaled.
export function stamp(c, node, size, x, y) {
  const scale = devicePixelRatio, pixels = size * scale;
  const column = columns.get(node.s) ?? columns.get("unknown");
  c.drawImage(sheet(size), column * pixels, (node.c ? 1 : 0) * pixels, pixels, pixels, Math.round(x * scale), Math.round(y * scale), pixels, pixels);
}

// write puts two lines, the first of them strong, one above the other, into a box on a canvas that is not scaled. What
// does not fit ends in an ellipsis.
export function write(c, lines, x, y, width, height) {
  const scale = devicePixelRatio, style = getComputedStyle(document.body);
  lines.forEach((line, i) => {
    c.font = `${i ? 400 : 600} ${13 * scale}px ${style.fontFamily}`;
    c.fillStyle = style.getPropertyValue(i ? "--soft" : "--text");
    c.textBaseline = "middle";
    c.fillText(fitted(c, line, width * scale), Math.round(x * scale), Math.round((y + height * (i ? 0.7 : 0.3)) * scale));
  });
}

// fitted is the longest beginning of a text that is not wider.
function fitted(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 0 && c.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}

const drawSign = (element) => {
  const { status, cordoned } = element.dataset;
  paint(element, 16, 16, (c) => square(c, statusOf(status), 16, cordoned));
};

// sign is a small picture of a status, for texts.
export function sign(id, cordoned = "") {
  const element = el("canvas", { class: "sign", "aria-hidden": "true", "data-status": id, "data-cordoned": cordoned });
  drawSign(element);
  return element;
}

// onColours calls back when the squares look different: another scheme, another zoom.
export const onColours = (callback) => listeners.add(callback);

function changed() {
  sheets.clear();
  document.querySelectorAll("canvas.sign").forEach(drawSign);
  for (const listener of listeners) listener();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
matchMedia("(forced-colors: active)").addEventListener("change", changed);
(function watchZoom() {
  matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => { watchZoom(); changed(); }, { once: true });
})();
