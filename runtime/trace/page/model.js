"use strict";
// Makes rows of bars out of the trace. A bar is {row, depth, kind, began, ended, name, task, note}; the bars of one
// row and depth do not overlap and are in order, so that what is visible is found by bisection. An edge is [bar, bar, kind].

const LAUNCH = 1, CAPTURED = 2, BEAT_WAIT = 6;

function makeModel(data) {
  const text = index => data.texts[index];
  const model = {data, rows: [], tasks: [], edges: [], clock: data.clock, phases: data.phases};
  const place = task => task.device || task.host;
  const hostRows = [];
  for (const name of data.threads) hostRows.push(addRow(model, {group: "host", name, bars: []}));
  const laneRows = data.lanes.map(lane => ({group: "device " + lane.device, name: lane.name, lane, bars: [], queue: []}));

  for (const [thread, began, ended, kind, name, facts] of data.bars)
    hostRows[thread].bars.push({kind: ["span", "k" + BEAT_WAIT, "range"][kind], began, ended, name: text(name),
      note: text(facts), task: null});

  for (const each of data.tasks) {
    const [lane, thread, name, place, kind, launch, began, ended, phases, pending, position, wait, executed] = each;
    const task = {number: model.tasks.length, lane: data.lanes[lane], name: text(name), place: text(place),
      kind: text(kind), launch, began, ended, phases: [], pending, position, wait, host: null, device: null};
    model.tasks.push(task);
    task.host = {kind: launch === CAPTURED ? "captured" : "call", began, ended, name: task.name, note: "", task};
    hostRows[thread].bars.push(task.host);
    let at = began;
    for (let i = 0; i < phases.length; i += 2) {
      const phase = phases[i], until = at + phases[i + 1];
      task.phases.push([phase, phases[i + 1]]);
      if (launch !== CAPTURED && until > at)
        hostRows[thread].bars.push({kind: "k" + phase, began: at, ended: until, name: data.phases[phase], note: "", task});
      at = until;
    }
    if (launch !== CAPTURED) laneRows[lane].queue.push([ended, pending]);
    if (executed) {
      task.device = {kind: task.kind, began: executed[0], ended: executed[1], name: task.name, note: text(executed[2]), task};
      laneRows[lane].bars.push(task.device);
    }
  }
  for (const [lane, began, ended, name, what, kind, starter] of data.replays) {
    const bar = {kind: text(kind), began, ended, name: text(name), note: text(what), task: null};
    laneRows[lane].bars.push(bar);
    if (starter >= 0) model.edges.push([place(model.tasks[starter]), bar, "graph"]);
  }
  for (const [from, to] of data.edges) model.edges.push([place(model.tasks[from]), place(model.tasks[to]), "event"]);
  const shown = laneRows.filter(row => row.bars.length || row.queue.length);
  shown.sort((a, b) => a.lane.device - b.lane.device);
  for (const row of shown) addRow(model, row);
  addMemoryRows(model);
  model.rows.forEach(layOut);
  model.bars = model.rows.flatMap(row => row.bars);
  model.launches = model.tasks.filter(task => task.launch === LAUNCH);
  model.steps = model.launches.length ? model.launches : model.tasks;
  const changes = data.memory.flatMap(lane => lane.points.map(point => point[0]));
  model.end = Math.max(1, changes.reduce((a, b) => Math.max(a, b), 1), model.bars.reduce((end, bar) => Math.max(end, bar.ended), 1));
  model.begin = Math.min(model.end - 1e-3, model.bars.reduce((begin, bar) => Math.min(begin, bar.began), model.end));
  return model;
}

function addRow(model, row) {
  row.index = model.rows.length;
  model.rows.push(row);
  return row;
}

// Gives each bar its depth: one deeper than the bar that it lies in.
function layOut(row) {
  row.bars.sort((a, b) => a.began - b.began || b.ended - a.ended);
  row.depths = [];
  const open = [];
  for (const bar of row.bars) {
    while (open.length && open[open.length - 1].ended <= bar.began + 1e-9) open.pop();
    bar.row = row;
    bar.depth = open.length;
    open.push(bar);
    (row.depths[bar.depth] = row.depths[bar.depth] || []).push(bar);
  }
  if (row.queue) row.queue.sort((a, b) => a[0] - b[0]);
  row.fullest = (row.queue || []).reduce((most, point) => Math.max(most, point[1]), 0);
}

// The first bar of a list without overlaps that ends after a time.
function firstAfter(bars, time) {
  let low = 0, high = bars.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bars[middle].ended > time) high = middle; else low = middle + 1;
  }
  return low;
}

function formatTime(us) {
  const size = Math.abs(us);
  if (size >= 1e6) return (us / 1e6).toFixed(3) + " s";
  if (size >= 1e3) return (us / 1e3).toFixed(size >= 1e5 ? 1 : 3) + " ms";
  return us.toFixed(size >= 100 ? 1 : 3) + " us";
}
