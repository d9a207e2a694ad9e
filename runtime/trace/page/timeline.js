"use strict";
// Draws the part of the model that the view (a stretch of time) shows. Input is the business of input.js.

const RULER = 24, LANE = 17, GAP = 7, QUEUE = 18, GROUP = 20, NAME = 16, LEAST_US = 0.02, MOST_ARROWS = 400;

class Timeline {
  constructor(model, parts, events) {
    Object.assign(this, parts, {model, events});
    this.selected = this.hovered = this.range = this.bright = null;
    this.found = new Set();
    this.view = [model.begin, model.end];
    this.resize();
    this.fit();
  }

  // -- the view -----------------------------------------------------------------------------------------------------

  fit() {
    const room = (this.model.end - this.model.begin) * 0.02;
    this.show(this.model.begin - room, this.model.end + room);
  }

  show(began, ended) {
    const length = Math.max(ended - began, LEAST_US);
    const most = (this.model.end - this.model.begin) * 1.04;
    const kept = Math.min(length, most), low = this.model.begin - most * 0.02, high = this.model.end + most * 0.02;
    const from = Math.min(Math.max(began + (length - kept) / 2, low), high - kept);
    this.view = [from, from + kept];
    this.draw();
  }

  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    this.show(at - (at - this.view[0]) / factor, at + (this.view[1] - at) / factor);
  }

  pan(share) {
    const step = (this.view[1] - this.view[0]) * share;
    this.show(this.view[0] + step, this.view[1] + step);
  }

  reveal(bar) {
    const length = this.view[1] - this.view[0], middle = (bar.began + bar.ended) / 2;
    const wanted = Math.min(Math.max((bar.ended - bar.began) * 4, LEAST_US), length);
    const inside = bar.began >= this.view[0] && bar.ended <= this.view[1];
    if (!inside || this.pixels(bar) < 8) this.show(middle - wanted / 2, middle + wanted / 2);
    const top = bar.row.y - RULER - GROUP - NAME, bottom = bar.row.y + bar.row.height;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (bottom > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = bottom - this.box.clientHeight;
  }

  select(bar) {
    this.selected = bar;
    this.range = null;
    if (bar) this.reveal(bar);
    this.draw();
    this.events.selected(bar);
  }

  step(by) {
    const steps = this.model.steps, now = this.selected ? steps.indexOf(this.selected.task) : -1;
    if (!steps.length) return;
    let next = now < 0 ? steps.findIndex(one => one.ended > this.view[0]) : now + by;
    if (now < 0 && next < 0) next = steps.length - 1;
    this.select(steps[Math.min(Math.max(next, 0), steps.length - 1)].host);
  }

  // -- geometry -----------------------------------------------------------------------------------------------------

  // Gives each row its place. Where there is no space beside the bars, names stand above them.
  place() {
    let y = RULER, group = "";
    for (const row of this.model.rows) {
      row.titled = row.group !== group;
      group = row.group;
      if (row.titled) y += GROUP;
      if (!this.left) y += NAME;
      row.y = y;
      row.height = (row.memory ? MEMORY_HEIGHT : Math.max(row.depths.length, 1) * LANE + (row.fullest ? QUEUE : 0)) + GAP;
      y += row.height;
    }
    this.total = y + 4;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.left = this.box.clientWidth < 640 ? 0 : 170;
    this.place();
    this.width = this.box.clientWidth;
    const most = Math.max(200, Math.floor(window.innerHeight * 0.7));
    this.height = Math.min(this.total, most);
    this.spacer.style.height = this.total - this.height + "px";
    for (const [canvas, width, height] of [[this.canvas, this.width, this.height],
      [this.overview, this.overview.clientWidth, this.overview.clientHeight]]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.canvas.style.height = this.height + "px";
    this.canvas.style.width = this.width + "px";
    const style = getComputedStyle(document.documentElement), cache = {};
    this.colour = name => cache[name] || (cache[name] = style.getPropertyValue("--" + name).trim());
  }

  x(time) {
    return this.left + (time - this.view[0]) / (this.view[1] - this.view[0]) * (this.width - this.left);
  }

  time(x) {
    return this.view[0] + (x - this.left) / (this.width - this.left) * (this.view[1] - this.view[0]);
  }

  pixels(bar) {
    return (bar.ended - bar.began) / (this.view[1] - this.view[0]) * (this.width - this.left);
  }

  barAt(x, y) {
    if (x < this.left || y < RULER) return null;
    const deep = y + this.box.scrollTop, time = this.time(x), near = (this.time(x + 2) - time);
    const row = this.model.rows.find(one => deep >= one.y && deep < one.y + one.height);
    if (row && row.memory) return memorySpot(row, time);
    const bars = row && row.depths[Math.floor((deep - row.y) / LANE)];
    if (!bars) return null;
    const first = firstAfter(bars, time - near);
    let best = null, distance = near;
    for (let i = first; i < bars.length && bars[i].began <= time + near; i++) {
      const away = Math.max(bars[i].began - time, time - bars[i].ended, 0);
      if (away < distance || best === null) [best, distance] = [bars[i], away];
    }
    return best;
  }

  // -- drawing ------------------------------------------------------------------------------------------------------

  draw() {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    const pen = this.canvas.getContext("2d"), top = this.box.scrollTop;
    this.painted = 0;
    pen.font = "11.5px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.fillStyle = this.colour("card");
    pen.fillRect(0, 0, this.width, this.height);
    const ticks = this.ticks();
    pen.fillStyle = this.colour("line");
    for (const [time] of ticks) pen.fillRect(this.x(time), RULER - 6, 1, this.height);
    for (const row of this.model.rows)
      if (row.y + row.height > top + RULER - GROUP && row.y - GROUP - NAME < top + this.height) this.paintRow(pen, row, row.y - top);
    const arrows = this.paintArrows(pen, top);
    this.paintRuler(pen, ticks);
    this.paintOverview();
    document.body.dataset.drawn = this.painted + " bars, " + arrows + " arrows";
    document.body.dataset.view = this.view.map(time => time.toFixed(3)).join(" ");
  }

  paintRow(pen, row, y) {
    if (row.titled) {
      const head = y - GROUP - (this.left ? 0 : NAME);
      pen.fillStyle = this.colour("hover");
      pen.fillRect(0, head, this.width, GROUP - 3);
      pen.fillStyle = this.colour("text");
      const clock = row.lane && this.model.clock ? ", " + this.model.clock : "";
      pen.fillText(row.group + clock, 6, head + GROUP / 2 - 1, this.width - 12);
    }
    pen.save();
    pen.beginPath();
    pen.rect(this.left, Math.max(y, RULER), this.width - this.left, row.height);
    pen.clip();
    row.depths.forEach((bars, depth) => this.paintBars(pen, bars, y + depth * LANE));
    if (row.fullest) this.paintQueue(pen, row, y + Math.max(row.depths.length, 1) * LANE);
    if (row.memory) paintMemory(this, pen, row, y);
    pen.restore();
    const about = row.memory ? "at most " + formatBytes(row.memory.most) : row.fullest ? "ring: at most " + row.fullest + " pending" : "";
    pen.fillStyle = this.colour("text");
    if (this.left) {
      pen.fillText(row.name, 12, y + LANE / 2, this.left - 18);
      pen.fillStyle = this.colour("soft");
      pen.fillText(about, 12, row.memory ? y + LANE * 1.5 : y + row.height - GAP - QUEUE / 2, this.left - 18);
    } else {
      pen.fillText(row.name, 4, y - NAME / 2, this.width / 2 - 8);
      const wide = Math.min(pen.measureText(row.name).width, this.width / 2 - 8);
      pen.fillStyle = this.colour("soft");
      pen.fillText(about, wide + 14, y - NAME / 2, this.width - wide - 18);
    }
    pen.fillStyle = this.colour("line");
    pen.fillRect(0, y + row.height - 4, this.width, 1);
  }

  paintBars(pen, bars, y) {
    const pixel = (this.view[1] - this.view[0]) / (this.width - this.left);
    for (let i = firstAfter(bars, this.view[0]); i < bars.length && bars[i].began < this.view[1]; i++) {
      const bar = bars[i], from = this.x(bar.began), wide = Math.max(this.pixels(bar), 1);
      if (wide === 1 && !this.found.size)  // of what ends within one pixel, only the first is drawn
        i = Math.max(i, firstAfter(bars, Math.max(bar.began, this.view[0]) + pixel) - 1);
      const faint = (this.bright && bar.kind !== this.bright) || (this.found.size && !this.found.has(bar));
      pen.globalAlpha = faint ? 0.2 : 1;
      pen.fillStyle = this.colour(bar.kind);
      const height = LANE - 3;
      pen.fillRect(from, y + 1, wide > 4 ? wide - 0.6 : wide, height);
      this.painted++;
      if (wide > 30) {
        const at = Math.max(from, this.left), room = Math.min(from + wide, this.width) - at - 8;
        if (room > 22) {
          pen.save();
          pen.beginPath();
          pen.rect(at, y, room + 6, LANE);
          pen.clip();
          pen.fillStyle = this.colour(bar.kind === "call" || bar.kind === "k7" ? "text" : "on-bar");
          pen.fillText(bar.name, at + 4, y + 1 + height / 2);
          pen.restore();
        }
      }
      pen.globalAlpha = 1;
    }
    for (const bar of [this.hovered, this.selected]) {
      if (!bar || bars[0].row !== bar.row || bars[0].depth !== bar.depth) continue;
      pen.lineWidth = bar === this.selected ? 2 : 1;
      pen.strokeStyle = this.colour("text");
      pen.strokeRect(this.x(bar.began) - 0.5, y + 0.5, Math.max(this.pixels(bar), 1) + 1, LANE - 2);
    }
  }

  paintQueue(pen, row, y) {
    const scale = (QUEUE - 6) / row.fullest, points = row.queue, base = y + QUEUE - 4;
    pen.beginPath();
    pen.moveTo(this.x(Math.max(points[0][0], this.view[0])), base);
    let last = 0, skipped = -1;
    for (const [time, pending] of points) {
      const x = Math.min(Math.max(this.x(time), this.left - 2), this.width + 2);
      if (x === skipped && pending <= last) continue;
      pen.lineTo(x, base - last * scale);
      pen.lineTo(x, base - pending * scale);
      [last, skipped] = [pending, x];
      if (time > this.view[1]) break;
    }
    const end = Math.min(this.x(points[points.length - 1][0]) + 2, this.width + 2);
    pen.lineTo(end, base - last * scale);
    pen.lineTo(end, base);
    pen.fillStyle = this.colour("k1");
    pen.globalAlpha = 0.35;
    pen.fill();
    pen.globalAlpha = 1;
  }

  paintArrows(pen, top) {
    const chosen = [this.selected, this.hovered].map(bar => bar && bar.task).filter(Boolean);
    const seen = bar => bar && bar.ended >= this.view[0] && bar.began <= this.view[1];
    let drawn = this.model.edges.filter(([from, to]) => seen(from) || seen(to));
    if (drawn.length > MOST_ARROWS)
      drawn = drawn.filter(([from, to]) => chosen.includes(from.task) || chosen.includes(to.task));
    else drawn = [...drawn];
    for (const task of chosen) if (task.device) drawn.push([task.host, task.device, "launch"]);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, RULER, this.width - this.left, this.height);
    pen.clip();
    pen.lineWidth = 1.3;
    for (const [from, to, kind] of drawn) {
      const start = this.x(kind === "event" ? from.ended : from.began), end = this.x(to.began);
      const y1 = from.row.y - top + from.depth * LANE + LANE / 2, y2 = to.row.y - top + to.depth * LANE + LANE / 2;
      pen.strokeStyle = pen.fillStyle = this.colour(kind === "event" ? "arrow" : kind === "graph" ? "graph" : "kernel");
      const bend = Math.max(12, Math.min(60, Math.abs(end - start) / 2));
      pen.beginPath();
      pen.moveTo(start, y1);
      pen.bezierCurveTo(start + bend, y1, end - bend, y2, end, y2);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(end, y2);
      pen.lineTo(end - 6, y2 - 3.5);
      pen.lineTo(end - 6, y2 + 3.5);
      pen.fill();
    }
    pen.restore();
    return drawn.length;
  }

  // Times and names of the marks on the ruler.
  ticks() {
    const length = this.view[1] - this.view[0], wide = this.width - this.left;
    const rough = length / Math.max(wide / 110, 1), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough), found = [];
    for (let i = Math.ceil(this.view[0] / step); i * step <= this.view[1]; i++)
      found.push([i * step, tickName(i * step, step)]);
    return found;
  }

  paintRuler(pen, ticks) {
    pen.fillStyle = this.colour("card");
    pen.fillRect(0, 0, this.width, RULER);
    for (const [time, name] of ticks) {
      const x = this.x(time);
      pen.fillStyle = this.colour("line");
      pen.fillRect(x, RULER - 6, 1, 6);
      pen.fillStyle = this.colour("soft");
      if (x + 3 + pen.measureText(name).width <= this.width) pen.fillText(name, x + 3, RULER / 2);
    }
    pen.fillStyle = this.colour("line");
    pen.fillRect(0, RULER - 1, this.width, 1);
    if (!this.range) return;
    const [from, to] = this.range.map(time => this.x(time)).sort((a, b) => a - b);
    pen.fillStyle = this.colour("focus");
    pen.globalAlpha = 0.15;
    pen.fillRect(from, 0, to - from, this.height);
    pen.globalAlpha = 1;
    pen.fillRect(from, 0, 1, this.height);
    pen.fillRect(to, 0, 1, this.height);
    const length = formatTime(Math.abs(this.range[1] - this.range[0])), wide = pen.measureText(length).width + 8;
    const start = Math.min(from, this.width - wide);
    pen.fillStyle = this.colour("card");  // over the names of marks
    pen.fillRect(start + 1, 1, wide, RULER - 3);
    pen.fillStyle = this.colour("focus");
    pen.fillText(length, start + 4, RULER / 2);
  }

  paintOverview() {
    const pen = this.overview.getContext("2d"), wide = this.overview.clientWidth, high = this.overview.clientHeight;
    const span = (this.model.end - this.model.begin) * 1.04, begin = this.model.begin - span * 0.02;
    pen.fillStyle = this.colour("card");
    pen.fillRect(0, 0, wide, high);
    this.model.rows.forEach(row => {
      const y = 3 + row.index / this.model.rows.length * (high - 6), thick = Math.max(1, (high - 6) / this.model.rows.length - 1);
      let drawnTo = -1;
      for (const bar of row.depths[0] || []) {
        const from = (bar.began - begin) / span * wide, size = Math.max(1, (bar.ended - bar.began) / span * wide);
        if (from + size <= drawnTo) continue;
        drawnTo = from + size;
        pen.fillStyle = this.colour(bar.kind === "call" ? "k7" : bar.kind);
        pen.fillRect(from, y, size, thick);
      }
      if (row.memory) this.sketchMemory(pen, row.memory, y, thick, time => (time - begin) / span * wide);
    });
    const [from, to] = this.view.map(time => (time - begin) / span * wide);
    pen.fillStyle = this.colour("text");
    pen.globalAlpha = 0.14;
    pen.fillRect(0, 0, from, high);
    pen.fillRect(to, 0, wide - to, high);
    pen.globalAlpha = 1;
    pen.strokeStyle = this.colour("focus");
    pen.lineWidth = 1.5;
    pen.strokeRect(Math.max(from, 1), 1, Math.max(Math.min(to, wide - 1) - Math.max(from, 1), 3), high - 2);
  }

  // A device's memory in the overview: as dark as it is full.
  sketchMemory(pen, memory, y, thick, x) {
    pen.fillStyle = this.colour("kernel");
    memory.points.forEach((point, index) => {
      const next = memory.points[index + 1], until = next ? next[0] : this.model.end;
      const held = memory.stacked.reduce((sum, name) => sum + point[memory.owners.indexOf(name) + 1], 0);
      pen.globalAlpha = 0.8 * held / (memory.most || 1);
      pen.fillRect(x(point[0]), y, Math.max(x(until) - x(point[0]), 0.5), thick);
    });
    pen.globalAlpha = 1;
  }

  // -- what input asks for ------------------------------------------------------------------------------------------

  choose(bar) {
    this.selected = bar;
    this.range = null;
    this.draw();
    this.events.selected(bar);
  }

  zoomTo(bar) {
    const room = Math.max((bar.ended - bar.began) * 0.15, LEAST_US / 4);
    this.show(bar.began - room, bar.ended + room);
  }

  hover(bar, event) {
    if (bar !== this.hovered) { this.hovered = bar; this.draw(); }
    this.events.hovered(bar, event);
  }
}

function tickName(time, step) {
  const [unit, size] = step >= 1e6 ? ["s", 1e6] : step >= 1e3 || Math.abs(time) >= 1e5 ? ["ms", 1e3] : ["us", 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size)));
  return (time / size).toFixed(Math.min(digits, 6)) + " " + unit;
}
