// Times as people read them.

import { el, setText } from "./dom.js";

const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

// ahead is how many milliseconds the clock of the API is ahead of this machine's, which may be wrong.
let ahead = 0;

// sync takes the time that it was when a message was sent.
export const sync = (at) => { ahead = Date.parse(at) - Date.now(); };

const now = () => Date.now() + ahead;

// span is a number of seconds in its one or two largest units: "3m", "2h5m".
function span(seconds) {
  const first = units.findIndex(([, length]) => seconds >= length);
  if (first < 0) return "0s";
  const [unit, length] = units[first];
  const whole = Math.floor(seconds / length), rest = seconds % length;
  const [small, smaller] = units[first + 1] ?? ["", Infinity];
  return `${whole}${unit}${whole < 10 && rest >= smaller ? Math.floor(rest / smaller) + small : ""}`;
}

// ago is how long ago a time of the API is.
export function ago(time) {
  const seconds = (now() - Date.parse(time)) / 1000;
  return Number.isFinite(seconds) ? span(Math.max(0, seconds)) : "";
}

// clock is a time of the API where whoever looks is, with the day if it is another one. The zone is there because those
// whom it is told may be elsewhere.
export function clock(time) {
  const at = new Date(time);
  const day = at.toDateString() === new Date(now()).toDateString() ? {} : { day: "numeric", month: "short" };
  return at.toLocaleString([], { ...day, hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
}

const both = (time) => `${clock(time)}, ${ago(time)} ago`;

// since is a time of the API and how long ago it is, which tick keeps right.
export const since = (time) => el("time", { datetime: time }, both(time));

export const tick = () => document.querySelectorAll("time").forEach((element) => setText(element, both(element.dateTime)));
