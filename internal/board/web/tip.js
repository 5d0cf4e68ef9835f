import { byId, el, setShown } from "./dom.js";
import { sign } from "./sprites.js";
import { words } from "./statuses.js";

// tip shows the name, status and reason of a node beside its square; nothing without a node. Screen readers read the
// option of the grid instead.
export function tip(node, rect) {
  const box = byId("tip");
  setShown(box, Boolean(node));
  if (!node) return;
  const more = [node.p && `${node.p} packages complete`, node.c && "cordoned"].filter(Boolean).join(" · ");
  box.replaceChildren(
    el("strong", {}, node.n),
    el("span", {}, sign(node.s), words(node.s), node.r ? ` · ${node.r}` : ""),
    ...(more ? [el("span", {}, more)] : []),
  );
  const { width, height } = box.getBoundingClientRect();
  const left = Math.max(8, Math.min(rect.left, document.documentElement.clientWidth - width - 8));
  const top = rect.bottom + 6 + height < innerHeight ? rect.bottom + 6 : rect.top - height - 6;
  box.style.transform = `translate(${left}px, ${top}px)`;
}
