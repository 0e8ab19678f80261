// Finds sections by words, and Chinese by pairs of signs, which no generator's own search divides.
"use strict";

const [query, list, told] = ["query", "found", "told"].map((id) => document.getElementById(id));
const MOST = 12;
let chosen = -1;

/** What to look for: the beginnings of words, and pairs of Chinese signs. */
function terms(text) {
  const found = [];
  for (const [word] of text.toLowerCase().matchAll(/[a-z0-9_]+|[\u3400-\u9fff]+/g)) {
    if (word < "\u3400") found.push(word.length > 4 ? word.replace(/(ing|ed|es|s|e)$/, "") : word);
    else if (word.length === 1) found.push(word);
    else for (let at = 0; at + 1 < word.length; at += 1) found.push(word.slice(at, at + 2));
  }
  return [...new Set(found)];
}

/** How often a term stands in a text, at the beginning of a word. */
function times(term, text) {
  let count = 0;
  for (let at = text.indexOf(term); at >= 0 && count < 5; at = text.indexOf(term, at + 1)) {
    if (term >= "\u3400" || at === 0 || !/[a-z0-9_]/.test(text[at - 1])) count += 1;
  }
  return count;
}

/** The sections that fit, the best first: those with more of the terms, then those that say them more often. */
function search(text) {
  const wanted = terms(text);
  const counted = PLACES.map((place) => wanted.map((term) => times(term, place.low) + 5 * times(term, place.lowHeading)));
  const rare = wanted.map((_, at) => Math.log(1 + PLACES.length / (1 + counted.filter((row) => row[at]).length)));
  return PLACES.map((place, number) => {
    const row = counted[number];
    const score = row.reduce((sum, count, at) => sum + (count ? rare[at] * (4 + Math.log1p(count)) : 0), 0);
    return { place, score: score / Math.log(30 + place.low.length / 40) };
  })
    .filter((each) => each.score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, MOST)
    .map((each) => each.place);
}

function show() {
  const text = query.value.trim();
  const places = text ? search(text) : [];
  list.replaceChildren(
    ...places.map((place, number) => {
      const item = document.createElement("li");
      const page = document.createElement("small");
      Object.assign(item, { id: `found-${number}`, role: "option" });
      item.dataset.href = document.body.dataset.up + place.href;
      page.append(place.page);
      item.append(place.heading, page);
      return item;
    }),
  );
  list.hidden = places.length === 0;
  query.setAttribute("aria-expanded", String(places.length > 0));
  told.textContent = text && places.length === 0 ? list.dataset.none : "";
  choose(places.length ? 0 : -1);
}

function go(item) {
  location.href = item.dataset.href;
  query.value = "";
  show();
}

function choose(number) {
  chosen = number;
  [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === number)));
  if (number >= 0) {
    query.setAttribute("aria-activedescendant", `found-${number}`);
    list.children[number].scrollIntoView({ block: "nearest" });
  } else query.removeAttribute("aria-activedescendant");
}

for (const place of PLACES) {
  place.low = place.text.toLowerCase();
  place.lowHeading = place.heading.toLowerCase();
}
list.addEventListener("click", (event) => go(event.target.closest("li")));
query.addEventListener("input", show);
query.addEventListener("keydown", (event) => {
  const count = list.children.length;
  if (event.key === "ArrowDown" && count) choose((chosen + 1) % count);
  else if (event.key === "ArrowUp" && count) choose((chosen + count - 1) % count);
  else if (event.key === "Enter" && chosen >= 0) go(list.children[chosen]);
  else if (event.key === "Escape") {
    query.value = "";
    show();
  } else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== query) {
    event.preventDefault();
    query.focus();
  }
});
