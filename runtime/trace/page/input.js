"use strict";
// Turns wheel and pointer into views, selections and measured stretches.

function listen(timeline) {
  const {canvas, overview, model} = timeline;
  const spot = event => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  let held = null;
  canvas.addEventListener("wheel", event => {
    if (event.ctrlKey || event.metaKey) timeline.zoom(Math.exp(-event.deltaY / 300), timeline.time(spot(event)[0]));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      timeline.pan((event.deltaX || event.deltaY) / (timeline.width - timeline.left));
    else return;
    event.preventDefault();
  }, {passive: false});
  canvas.addEventListener("pointerdown", event => {
    const [x, y] = spot(event);
    held = {x, y, view: timeline.view, measure: event.shiftKey, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    const [x, y] = spot(event);
    if (!held) return timeline.hover(timeline.barAt(x, y), event);
    if (Math.abs(x - held.x) > 3) held.moved = true;
    if (!held.moved) return;
    timeline.hover(null);
    if (held.measure) {
      timeline.range = [timeline.time(held.x), timeline.time(x)];
      timeline.draw();
      return;
    }
    const shift = (held.x - x) / (timeline.width - timeline.left) * (held.view[1] - held.view[0]);
    canvas.classList.add("drag");
    timeline.show(held.view[0] + shift, held.view[1] + shift);
  });
  canvas.addEventListener("pointerup", event => {
    const [x, y] = spot(event), was = held;
    held = null;
    canvas.classList.remove("drag");
    if (was && was.moved && was.measure) timeline.events.measured(timeline.range.slice().sort((a, b) => a - b));
    else if (was && !was.moved) timeline.choose(timeline.barAt(x, y));
  });
  canvas.addEventListener("pointercancel", () => { held = null; });
  canvas.addEventListener("pointerleave", () => timeline.hover(null));
  canvas.addEventListener("dblclick", event => {
    const bar = timeline.barAt(...spot(event));
    if (bar) timeline.zoomTo(bar);
  });
  timeline.box.addEventListener("scroll", () => timeline.draw());
  const jump = event => {
    const span = (model.end - model.begin) * 1.04, begin = model.begin - span * 0.02;
    const at = begin + (event.clientX - overview.getBoundingClientRect().left) / overview.clientWidth * span;
    const half = (timeline.view[1] - timeline.view[0]) / 2;
    timeline.show(at - half, at + half);
  };
  overview.addEventListener("pointerdown", event => {
    overview.setPointerCapture(event.pointerId);
    jump(event);
  });
  overview.addEventListener("pointermove", event => {
    if (event.buttons) jump(event);
  });
}
