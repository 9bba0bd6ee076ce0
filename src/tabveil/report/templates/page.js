"use strict";
const dark = matchMedia("(prefers-color-scheme: dark)");
const printing = matchMedia("print");

// Charts know no colours of text, grid and ramps: those follow the reader's theme.
function theme() {
  const night = dark.matches && !printing.matches;
  const ink = night ? "#e6e9ee" : "#1b2330", quiet = night ? "#a3adbb" : "#566070", line = night ? "#2b323c" : "#e4e7ec";
  const ramp = night ? ["#1d2733", "#1f4a76", "#3f84c4", "#a9d2ff"] : ["#eef3f8", "#a9c8e6", "#4a86c5", "#123a66"];
  return {
    background: null, font: "system-ui, sans-serif", aria: false, view: { stroke: null },
    axis: { labelColor: quiet, titleColor: quiet, gridColor: line, domainColor: line, tickColor: line,
            labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal", labelPadding: 5 },
    axisBand: { grid: false, ticks: false },
    legend: { labelColor: quiet, titleColor: quiet, titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 12, labelLimit: 260 },
    title: { color: ink }, text: { color: ink }, rule: { color: quiet }, range: { ramp: ramp, heatmap: ramp },
  };
}

function content(kind, id) {
  return JSON.parse(document.querySelector(`[data-${kind}="${id}"]`).textContent);
}

async function draw(place) {
  const spec = content("chart", place.id);
  const { view } = await vegaEmbed(place, spec, { config: theme(), actions: false, renderer: "svg", tooltip: { theme: dark.matches ? "dark" : "light" } });
  place.querySelector("svg").setAttribute("aria-hidden", "true"); // the words beside it say what it shows
  place.dataset.drawn = "yes";
  return view;
}

function redraw() {
  return Promise.all([...document.querySelectorAll(".drawing[data-drawn]")].map(draw));
}

// Only what comes near the screen is drawn, so a page with many columns opens at once.
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target); }
}, { rootMargin: "600px" });
document.querySelectorAll(".drawing").forEach((place) => near.observe(place));
dark.addEventListener("change", redraw);
printing.addEventListener("change", redraw);
addEventListener("beforeprint", () => {
  document.querySelectorAll(".drawing:not([data-drawn])").forEach((place) => { near.unobserve(place); draw(place); });
  document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
});

// A cell that a spreadsheet would take for a formula is quoted; numbers stay numbers.
function cell(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  if (typeof value === "string" && /^[=+@\t\r-]/.test(text) && isNaN(Number(text))) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function table(id) {
  if (document.querySelector(`[data-table="${id}"]`)) return content("table", id);
  const spec = content("chart", id);
  const rows = Object.values(spec.datasets || {})[0];
  const columns = Object.keys(rows[0]);
  return { columns, data: rows.map((row) => columns.map((name) => row[name])) };
}

document.querySelectorAll(".download").forEach((button) => button.addEventListener("click", () => {
  const { columns, data } = table(button.dataset.from);
  const text = [columns, ...data].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv" }));
  link.download = `${button.dataset.name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}));

const links = [...document.querySelectorAll("nav a")];
const here = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) links.forEach((link) => {
    if (link.hash === "#" + entry.target.id) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
  });
}, { rootMargin: "-15% 0px -75% 0px" });
document.querySelectorAll("section").forEach((section) => here.observe(section));
if (matchMedia("(max-width: 69.99rem)").matches) document.querySelector("nav details").open = false;
