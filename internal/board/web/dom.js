// Elements of the page. Text of the cluster only ever becomes a text node or an attribute, never markup.

export const byId = (id) => document.getElementById(id);

// el makes an element; properties that are functions listen to the event of that name.
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

// setText, setMarked and setShown leave what is right alone: a change that is none would be laid out, and read aloud, again.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setMarked(element, text) {
  if (element.dataset.text === text) return;
  element.dataset.text = text;
  element.replaceChildren(...marked(text));
}

export function setShown(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

// keyed makes the children of an element those of a list, in its order. An item whose key was there before keeps its
// child, and with it the focus. Items with the same key are told apart by their order.
export function keyed(parent, items, key, make, update) {
  const have = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const used = new Set();
  items.forEach((item, i) => {
    let k = String(key(item));
    while (used.has(k)) k += " ";
    used.add(k);
    const child = have.get(k) ?? make(item);
    have.delete(k);
    child.dataset.key = k;
    update(child, item);
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
  });
  for (const child of have.values()) child.remove();
}

// sentence begins a message as a sentence, and ends it.
export const sentence = (text) => text && text[0].toUpperCase() + text.slice(1).replace(/\.?$/, ".");

// marked is a text with what stands between backticks as code.
export function marked(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}
