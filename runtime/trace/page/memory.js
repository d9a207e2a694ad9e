"use strict";
// The memory of a device: bytes by owner, stacked over time, with the high-water mark; what is pointed at tells who held
// how much then, and a click lists what was there by call site.

const MEMORY_HEIGHT = 64;
const OWNER_COLOURS = {device: "k3", managed: "k4", physical: "k2", "ordered pool": "k1", pool: "kernel", cached: "k7", host: "k6"};

function addMemoryRows(model) {
  for (const lane of model.data.memory) {
    const blocks = lane.blocks.map(([owner, began, ended, size, site]) => (
      {owner: lane.owners[owner], began, ended: ended === null ? Infinity : ended, size, site: model.data.texts[site]}));
    const memory = {...lane, blocks, stacked: lane.owners.filter(name => name !== "host")};
    const rows = model.rows, same = rows.map(row => row.group).lastIndexOf("device " + lane.device);
    const row = {group: "device " + lane.device, name: "memory", memory, bars: [], lane: {device: lane.device}};
    rows.splice(same < 0 ? rows.length : same + 1, 0, row);
  }
  model.rows.forEach((row, index) => { row.index = index; });
}

const ownerColour = name => OWNER_COLOURS[name] || "graph";

// The index of the last point that is not after a time; -1 before the first.
function pointAt(memory, time) {
  let low = 0, high = memory.points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (memory.points[middle][0] > time) high = middle; else low = middle + 1;
  }
  return low - 1;
}

// [owner, bytes] at a time, in the order in which they are stacked.
function heldAt(memory, time) {
  const index = pointAt(memory, time);
  return memory.owners.map((name, owner) => [name, index < 0 ? 0 : memory.points[index][owner + 1]]).filter(([, size]) => size);
}

const inDevice = held => held.reduce((sum, [name, size]) => sum + (name === "host" ? 0 : size), 0);

function memorySpot(row, time) {
  return {memory: row.memory, row, began: time, ended: time, name: "memory of device " + row.memory.device, note: "", task: null, kind: "memory"};
}

function memoryFacts(spot) {
  const held = heldAt(spot.memory, spot.began);
  return [["at", formatTime(spot.began)], ["held", formatBytes(inDevice(held))],
    ...held.map(([name, size]) => [name === "host" ? "pinned host memory" : name, formatBytes(size)])];
}

// Who held what at a time, by owner and call site, largest first.
function memoryHolders(spot) {
  const sums = new Map();
  for (const block of spot.memory.blocks) {
    if (block.began > spot.began || block.ended <= spot.began) continue;
    const key = block.owner + "\n" + block.site, known = sums.get(key) || [block.owner, block.site, 0, 0];
    known[2] += block.size;
    known[3] += 1;
    sums.set(key, known);
  }
  return [...sums.values()].sort((a, b) => b[2] - a[2]).slice(0, 12)
    .map(([owner, site, size, count]) => [site || "asked for before the trace", owner + ", " + formatBytes(size) + " in " + count]);
}

function paintMemory(timeline, pen, row, y) {
  const {memory} = row, high = MEMORY_HEIGHT - 14, base = y + MEMORY_HEIGHT - 2, scale = high / (memory.most || 1);
  const first = Math.max(pointAt(memory, timeline.view[0]), 0), shapes = memory.stacked.map(() => []);
  const sums = point => {
    let sum = 0;
    return memory.stacked.map(name => sum += point[memory.owners.indexOf(name) + 1]);
  };
  let drawn = null;
  for (let i = first; i < memory.points.length; i++) {
    const point = memory.points[i], x = Math.min(Math.max(timeline.x(point[0]), timeline.left), timeline.width), now = sums(point);
    // Of what happens within half a pixel the most is drawn.
    if (drawn && x - drawn.x < 0.5) now.forEach((sum, index) => { drawn.sums[index] = Math.max(drawn.sums[index], sum); });
    else {
      drawn = {x, sums: now};
      shapes.forEach(shape => shape.push(drawn));
    }
    if (point[0] > timeline.view[1]) break;
  }
  const last = shapes[0] && shapes[0][shapes[0].length - 1];
  for (let owner = memory.stacked.length - 1; owner >= 0 && last; owner--) {  // the largest sum first, the others over it
    pen.beginPath();
    pen.moveTo(shapes[owner][0].x, base);
    let before = 0;
    for (const {x, sums: now} of shapes[owner]) {
      pen.lineTo(x, base - before * scale);
      pen.lineTo(x, base - now[owner] * scale);
      before = now[owner];
    }
    const end = Math.min(Math.max(timeline.x(timeline.model.end), timeline.left), timeline.width);
    pen.lineTo(Math.max(end, last.x), base - before * scale);
    pen.lineTo(Math.max(end, last.x), base);
    pen.fillStyle = timeline.colour(ownerColour(memory.stacked[owner]));
    pen.globalAlpha = timeline.bright && timeline.bright !== memory.stacked[owner] ? 0.2 : 0.85;
    pen.fill();
    pen.globalAlpha = 1;
  }
  const top = base - memory.most * scale;
  pen.strokeStyle = timeline.colour("k5");
  pen.setLineDash([4, 3]);
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(timeline.left, top);
  pen.lineTo(timeline.width, top);
  pen.stroke();
  pen.setLineDash([]);
  const mark = timeline.x(memory.at);
  if (mark >= timeline.left && mark <= timeline.width) {
    pen.fillStyle = timeline.colour("k5");
    pen.beginPath();
    pen.moveTo(mark, top + 1);
    pen.lineTo(mark - 4, top - 6);
    pen.lineTo(mark + 4, top - 6);
    pen.fill();
  }
  for (const spot of [timeline.hovered, timeline.selected])
    if (spot && spot.memory === memory) {
      pen.fillStyle = timeline.colour("text");
      pen.fillRect(timeline.x(spot.began), y, 1, MEMORY_HEIGHT);
    }
  timeline.painted++;
}

function formatBytes(size) {
  let unit = 0;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  while (size >= 1024 && unit < 4) { size /= 1024; unit++; }
  return (unit ? size.toFixed(1) : String(size)) + " " + units[unit];
}
