// Searches the pages, without a server: index.js has the program and the text.
"use strict";
(() => {
  const root = document.currentScript.src.replace(/[^/]*$/, "");
  const form = document.querySelector(".search");
  const input = form.querySelector("input"), list = form.querySelector("ol"), told = form.querySelector("output");
  const most = 12;
  let index, fetching;

  const fetchIndex = () => fetching ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = root + "index.js";
    script.onload = done;
    script.onerror = () => { fetching = undefined; failed(); };
    document.head.append(script);
  }).then(() => {
    index = new MiniSearch({
      fields: ["heading", "page", "text"], storeFields: ["link", "page", "heading"],
      searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: "AND" },
    });
    index.addAll(sections);
  });

  const entry = ({ link, page, heading }) => {
    const item = document.createElement("li"), a = document.createElement("a"), of = document.createElement("small");
    a.href = root + link;
    a.textContent = heading;
    of.textContent = page === heading ? "" : page;
    item.append(a, " ", of);
    return item;
  };

  const search = async () => {
    try {
      await fetchIndex();
    } catch {
      told.textContent = "The text of the pages could not be fetched.";
      return;
    }
    const query = input.value.trim();
    const found = query ? index.search(query) : [];
    list.replaceChildren(...found.slice(0, most).map(entry));
    told.textContent = !query ? "" : !found.length ? "Nothing found." :
      found.length > most ? `The first ${most} of ${found.length}.` : "";
  };

  form.hidden = false;
  input.addEventListener("focus", () => fetchIndex().catch(() => {}));
  input.addEventListener("input", search);
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    list.querySelector("a")?.click();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && document.activeElement === document.body) {
      e.preventDefault();
      input.focus();
    } else if (e.key === "Escape" && form.contains(document.activeElement)) {
      input.value = "";
      search();
      input.blur();
    }
  });
})();
