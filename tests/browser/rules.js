// Rules of accessibility, as axe-core has them, for what this page consists of. Returns what breaks them.
const broken = [];
const note = (rule, element) => broken.push(`${rule}: ${element.outerHTML.slice(0, 90)}`);
const all = (selector) => [...document.querySelectorAll(selector)];
const seen = (e) => e.checkVisibility() && !e.closest("[aria-hidden=true]");

// The name by which a screen reader calls an element.
function named(e) {
  const by = (e.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean);
  const texts = by.map((id) => document.getElementById(id)?.textContent ?? "");
  const labels = [...(e.labels ?? [])].map((label) => label.textContent);
  return [...texts, e.getAttribute("aria-label"), ...labels, e.textContent].find((t) => t?.trim()) ?? "";
}

if (!document.documentElement.lang) broken.push("html-has-lang");
if (!document.title) broken.push("document-title");
if (all("main").length !== 1) broken.push("landmark-one-main");
if (all("h1").length !== 1) broken.push("page-has-heading-one");
const ids = all("[id]").map((e) => e.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) broken.push(`duplicate-id: ${id}`);
let level = 0;
for (const e of all("h1, h2, h3, h4").filter(seen)) {
  if (Number(e.tagName[1]) > level + 1) note("heading-order", e);
  level = Number(e.tagName[1]);
  if (!e.textContent.trim()) note("empty-heading", e);
}
for (const e of all("button, input, select, textarea, a, [role=application], [role=tab], [role=region], [role=group], svg[role=img], section").filter(seen)) {
  if (!named(e)) note("name", e);
}
for (const e of all("[aria-controls], [aria-labelledby], [aria-describedby], [aria-activedescendant], label[for]")) {
  for (const a of ["aria-controls", "aria-labelledby", "aria-describedby", "aria-activedescendant", "for"]) {
    for (const id of (e.getAttribute(a) || "").split(" ").filter(Boolean)) if (!document.getElementById(id)) note(`${a}=${id}`, e);
  }
}
for (const e of all("[role=option]")) if (!e.closest("[role=listbox]")) note("aria-required-parent", e);
for (const e of all("[role=tab]")) if (!e.closest("[role=tablist]") || !e.hasAttribute("aria-selected")) note("tab", e);
for (const e of all("table").filter(seen)) if (!e.querySelector("th[scope]")) note("th-has-scope", e);
for (const e of all("th").filter(seen)) if (!e.textContent.trim()) note("empty-table-header", e);
for (const e of all("ul, ol")) {
  for (const child of e.children) if (child.tagName !== "LI") note("list", e);
}
for (const e of all("button, input, select, textarea").filter(seen)) {
  const { width, height } = e.getBoundingClientRect();
  if (Math.min(width, height) < 12) note(`target-size ${width}x${height}`, e);
}

// Contrast of text with what is behind it.
function rgba(text) {
  const context = (rgba.context ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true }));
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = text;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
}
const light = ([r, g, b]) => {
  const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const over = (top, under) => top.slice(0, 3).map((v, i) => (v * top[3] + under[i] * (255 - top[3])) / 255);
function ground(e) {
  const layers = [];
  for (let at = e; at; at = at.parentElement) layers.unshift(rgba(getComputedStyle(at).backgroundColor));
  return layers.reduce((under, top) => over(top, under), [255, 255, 255]);
}
for (const e of all("body *").filter(seen)) {
  const own = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || e.closest(".unseen, .skip, svg, script, noscript, canvas")) continue;
  const behind = ground(e);
  const [a, b] = [light(over(rgba(getComputedStyle(e).color), behind)), light(behind)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) note(`color-contrast ${ratio.toFixed(2)}`, e);
}

// Whoever moves with keys sees where they are.
for (const e of all("button, input, select, textarea, a, [tabindex='0']").filter(seen)) {
  e.focus({ preventScroll: true, focusVisible: true });
  const { outlineStyle, outlineWidth } = getComputedStyle(e);
  if (document.activeElement === e && (outlineStyle === "none" || parseFloat(outlineWidth) < 1)) note("focus-visible", e);
}
if (document.documentElement.scrollWidth > window.innerWidth) broken.push(`reflow: ${document.documentElement.scrollWidth}`);
return [...new Set(broken)];
