"use strict";
// Everything around the timeline: what is pointed at, what is selected, finding, the legend, buttons and keys.

const byId = name => document.getElementById(name);
const model = makeModel(JSON.parse(byId("data").textContent));
const timeline = new Timeline(
  model,
  {box: byId("view"), canvas: byId("canvas"), spacer: byId("height"), overview: byId("overview")},
  {selected: showBar, measured: showRange, hovered: showTip},
);
listen(timeline);

function facts(bar) {
  if (bar.memory) return memoryFacts(bar);
  const task = bar.task, found = [["took", formatTime(bar.ended - bar.began)], ["began", formatTime(bar.began)]];
  if (bar.note) found.push(["says", bar.note]);
  if (!task) return found;
  if (bar.name !== task.name) found.push(["of", task.name]);
  found.push(["submitted at", task.place], ["stream", task.lane.name + ", device " + task.lane.device]);
  if (task.launch === CAPTURED) return [...found, ["submission path", "none: captured into a graph"]];
  const whole = task.ended - task.began, sent = task.phases.reduce((sum, [phase, us]) => sum + (phase === 5 ? us : 0), 0);
  found.push(["submission path", task.lane.way], ["the send's share", whole ? Math.round(sent / whole * 100) + "%" : "-"],
    ["queue depth after", String(task.pending)], ["ring position", String(task.position)]);
  if (task.wait) found.push(["waited for later", formatTime(task.wait)]);
  if (task.device) found.push(["on the device", formatTime(task.device.ended - task.device.began)]);
  return found;
}

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function list(rows) {
  const made = element("dl");
  for (const [name, value] of rows) {
    const row = element("div", "", made);
    element("dt", name, row);
    element("dd", value, row);
  }
  return made;
}

function split(phases) {
  const made = element("div"), whole = phases.reduce((sum, [, us]) => sum + us, 0) || 1;
  made.className = "split";
  for (const [phase, us] of phases) {
    const part = element("i", "", made);
    part.className = "k" + phase;
    part.style.width = us / whole * 100 + "%";
    part.title = model.phases[phase] + " " + formatTime(us);
  }
  return made;
}

function showBar(bar) {
  const box = byId("details");
  box.replaceChildren();
  document.body.dataset.selected = bar ? bar.name : "";
  if (!bar) { element("p", "Nothing is selected: click a bar, or press n.", box).className = "none"; return; }
  element("h3", bar.name, box);
  box.append(list(facts(bar)));
  if (bar.memory) {
    element("p", "holders", box).className = "none";
    box.append(list(memoryHolders(bar)));
  }
  if (bar.task && bar.task.launch === LAUNCH) {
    element("p", "phases of this launch", box).className = "none";
    box.append(split(bar.task.phases), list(bar.task.phases.map(([phase, us]) => [model.phases[phase], formatTime(us)])));
  }
}

function showRange([began, ended]) {
  const box = byId("details"), inside = model.launches.filter(task => task.began >= began && task.ended <= ended);
  box.replaceChildren();
  document.body.dataset.selected = "";
  element("h3", formatTime(ended - began) + " measured", box);
  const sums = model.phases.map((_, phase) => [phase, 0]);
  for (const task of inside) for (const [phase, us] of task.phases) sums[phase][1] += us;
  const host = inside.reduce((sum, task) => sum + task.ended - task.began, 0);
  const worked = model.bars.filter(bar => bar.row.lane && bar.began < ended && bar.ended > began)
    .reduce((sum, bar) => sum + Math.min(bar.ended, ended) - Math.max(bar.began, began), 0);
  box.append(list([["launches inside", String(inside.length)], ["time in launches", formatTime(host)],
    ["device worked", formatTime(worked)]]));
  if (inside.length) box.append(split(sums.filter(([, us]) => us)),
    list(sums.filter(([, us]) => us).map(([phase, us]) => [model.phases[phase], formatTime(us)])));
}

function showTip(bar, event) {
  const tip = byId("tip");
  tip.hidden = !bar;
  if (!bar) return;
  tip.textContent = bar.name + "\n" + facts(bar).map(([name, value]) => name + ": " + value).join("\n");
  const wide = tip.offsetWidth, high = tip.offsetHeight, right = event.clientX + 14, below = event.clientY + 16;
  tip.style.left = Math.max(4, right + wide > innerWidth ? event.clientX - wide - 10 : right) + "px";
  tip.style.top = Math.max(4, below + high > innerHeight ? event.clientY - high - 10 : below) + "px";
}

function find(text, jump) {
  const wanted = text.trim().toLowerCase();
  const hits = !wanted ? [] : model.bars.filter(bar => bar.kind[0] !== "k" || bar.kind === "kernel" || bar.kind === "k6")
    .filter(bar => bar.name.toLowerCase().includes(wanted) || (bar.task && bar.task.place.toLowerCase().includes(wanted)));
  timeline.found = new Set(hits);
  byId("found").textContent = !wanted ? "" : hits.length ? hits.length + " found" : "nothing found";
  timeline.draw();
  if (jump && hits.length) timeline.select(hits[(hits.indexOf(timeline.selected) + 1) % hits.length]);
}

function makeLegend() {
  const names = {call: "launch or task", captured: "captured", span: "load, copy, open", range: "named by the program", kernel: "kernel", copy: "copy",
    signal: "event, notify", graph: "graph", other: "other task"};
  model.phases.forEach((name, phase) => { names["k" + phase] = name; });
  const used = new Set(model.bars.map(bar => bar.kind));
  const colours = {};
  for (const name of new Set(model.data.memory.flatMap(lane => lane.owners)))
    if (name !== "host") { used.add(name + " memory"); names[name + " memory"] = name + " memory"; colours[name + " memory"] = name; }
  for (const kind of Object.keys(names).filter(each => used.has(each))) {
    const button = element("button", "", byId("legend"));
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    const shown = colours[kind] || kind;
    element("i", "", button).style.background = "var(--" + (colours[kind] ? ownerColour(shown) : kind) + ")";
    button.append(names[kind]);
    button.onclick = () => {
      timeline.bright = timeline.bright === shown ? null : shown;
      for (const other of byId("legend").children)
        other.setAttribute("aria-pressed", String(other === button && timeline.bright !== null));
      timeline.draw();
    };
  }
}

function zoomToSelected() {
  if (timeline.range) timeline.show(...timeline.range.slice().sort((a, b) => a - b));
  else if (timeline.selected) timeline.zoomTo(timeline.selected);
}

const keys = {
  "+": () => timeline.zoom(1.5), "=": () => timeline.zoom(1.5), w: () => timeline.zoom(1.5),
  "-": () => timeline.zoom(1 / 1.5), s: () => timeline.zoom(1 / 1.5),
  ArrowLeft: () => timeline.pan(-0.15), a: () => timeline.pan(-0.15),
  ArrowRight: () => timeline.pan(0.15), d: () => timeline.pan(0.15),
  "0": () => timeline.fit(), n: () => timeline.step(1), p: () => timeline.step(-1), z: zoomToSelected,
  "/": () => byId("find").focus(), Escape: () => { find(byId("find").value = ""); timeline.choose(null); },
};
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target === byId("find"), scrolls = event.key.startsWith("Arrow") && event.target !== byId("view");
  if (typing ? event.key !== "Escape" : scrolls) return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  if (typing) byId("view").focus();
  act();
});
byId("find").addEventListener("input", event => find(event.target.value));
byId("find").addEventListener("keydown", event => { if (event.key === "Enter") find(event.target.value, true); });
byId("in").onclick = keys["+"];
byId("out").onclick = keys["-"];
byId("fit").onclick = keys["0"];
byId("next").onclick = keys.n;
byId("previous").onclick = keys.p;
byId("slowest").addEventListener("click", event => {
  const number = event.target.dataset.task;
  if (number === undefined) return;
  timeline.select(model.tasks[Number(number)].host);
  byId("view").scrollIntoView({block: "center"});
});
for (const change of [matchMedia("(prefers-color-scheme: dark)")])
  change.addEventListener("change", () => { timeline.resize(); timeline.draw(); });
new ResizeObserver(() => { timeline.resize(); timeline.draw(); }).observe(byId("view"));
makeLegend();
