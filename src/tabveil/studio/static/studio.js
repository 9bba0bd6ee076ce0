// What the screens do beyond plain forms. Every screen works without it; nothing is kept in the browser.
"use strict";
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);

// The server ends when its last tab closes.
const tab = crypto.randomUUID();
const here = () => fetch(`/tab?name=${tab}`, { method: "POST" }).catch(() => {});
addEventListener("pageshow", here);
addEventListener("pagehide", () => navigator.sendBeacon(`/tab?name=${tab}&gone`));
setInterval(here, 30000);

// One at a time: what is asked for meanwhile is done once more at the end, with the newest values.
function oneAtATime(work) {
  let busy = false, again = false;
  return async function run(about) {
    if (busy) { again = true; return; }
    busy = true;
    await work(about).catch(() => {});
    busy = false;
    if (again) { again = false; run(about); }
  };
}
const fragment = { headers: { "X-Fragment": "1" } };

// Copy buttons.
addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// A choice that changes the rest of the form: that part is drawn anew, with what was typed; the focus stays.
const renew = oneAtATime(async (select) => {
  const sent = { ...fragment, method: "POST", body: new URLSearchParams(new FormData(select.form)) };
  const answer = await fetch(select.dataset.renew, sent);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html"), focused = document.activeElement.id;
  for (const part of ["#fields", "aside"]) document.querySelector(part).replaceWith(fresh.querySelector(part));
  byId(focused)?.focus();
});
addEventListener("change", (event) => { if (event.target.matches("[data-renew]")) renew(byId(event.target.id)); });

// The list of columns: find by name, show by origin, tick all that are shown.
function sift(list) {
  const part = (all(`[data-filter=${list.id}]`)[0]?.value || "").toLowerCase();
  const origin = all(`[data-only=${list.id}]`)[0]?.value || "";
  for (const row of list.tBodies[0].rows) {
    row.hidden = !row.cells[1].textContent.toLowerCase().includes(part) || !row.dataset.origin.startsWith(origin);
  }
}
for (const field of all("[data-filter], [data-only]")) {
  field.addEventListener("input", () => sift(byId(field.dataset.filter || field.dataset.only)));
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
}
for (const box of all("[data-all]")) {
  box.addEventListener("change", () => {
    for (const row of byId(box.dataset.all).tBodies[0].rows) {
      if (!row.hidden) row.querySelector("input[type=checkbox]").checked = box.checked;
    }
  });
}

// The plan: redrawn while the slider moves, kept when it rests.
for (const form of all("[data-live]")) {
  const slider = form.querySelector("[data-epsilon]"), number = form.elements.epsilon;
  const filled = () => new URLSearchParams(new FormData(form));
  const draw = oneAtATime(async () => {
    const answer = await fetch(`${form.dataset.live}?${filled()}`, fragment);
    if (answer.ok) byId(form.dataset.target).innerHTML = await answer.text();  // else the last one stays
  });
  const keep = oneAtATime(async () => {
    const sent = number.value;
    const answer = await fetch(form.action, { ...fragment, method: "POST", body: filled() });
    byId("saved").textContent = answer.ok ? `Kept: ε = ${sent}.` : "Not kept: press the button to see why.";
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const field of all("input[name=version]")) field.value = fresh.querySelector("input").value;
    document.querySelector("aside").replaceWith(fresh.querySelector("aside"));
  });
  slider.addEventListener("input", () => {
    const exact = 0.05 * 400 ** (slider.value / slider.max);
    number.value = Number(exact.toPrecision(2));
    slider.setAttribute("aria-valuetext", `ε = ${number.value}`);
  });
  form.addEventListener("input", draw);
  form.addEventListener("change", keep);
}

// A fit that runs: looked at every second until it ends.
async function follow(section) {
  const answer = await fetch(section.dataset.poll, { headers: { "X-Fragment": "1" } }).catch(() => null);
  if (!answer || !answer.ok) { setTimeout(follow, 3000, section); return; }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("section");
  if (!fresh.dataset.poll) { location.reload(); return; }
  const focused = section.contains(document.activeElement) && document.activeElement.tagName;
  section.replaceChildren(...fresh.childNodes);
  if (focused) section.querySelector(focused)?.focus();
  setTimeout(follow, 1000, section);
}
for (const section of all("[data-poll]")) setTimeout(follow, 500, section);

// Files: a table that is dropped, and a schema that is read into its field.
async function send(file, area) {
  const said = byId("dropped");
  if (file.size > Number(area.dataset.largest)) {
    said.textContent = "This file is too large to copy. Give its path above instead: then it stays where it is.";
    return;
  }
  said.textContent = `Copying ${file.name} ...`;
  const answer = await fetch(`/upload?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  const text = await answer.text();
  if (!answer.ok) { said.textContent = text; return; }
  const path = byId("path");
  path.value = text;
  path.form.requestSubmit();
}
for (const area of all(".drop")) {
  area.addEventListener("dragover", (event) => { event.preventDefault(); area.classList.add("over"); });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0], area);
  });
  area.querySelector("input[type=file]").addEventListener("change", (event) => send(event.target.files[0], area));
}
for (const field of all("[data-into]")) {
  field.addEventListener("change", async () => { byId(field.dataset.into).value = await field.files[0].text(); });
}
