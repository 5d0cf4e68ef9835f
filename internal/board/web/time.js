// Times as people read them.

const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

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
export function ago(time, now = Date.now()) {
  const seconds = (now - Date.parse(time)) / 1000;
  return Number.isFinite(seconds) ? span(Math.max(0, seconds)) : "";
}

// clock is a time of the API on the clock of whoever looks.
export const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
