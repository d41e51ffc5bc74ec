#include "html_page.hpp"

namespace planner {

const std::string_view page_style = R"css(
body { font: 14px/1.45 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", sans-serif; color: var(--text);
  background: var(--back); max-width: 1440px; margin: 0 auto; padding: 20px 28px 40px; }
header { display: flex; align-items: baseline; gap: 14px; } header p { color: var(--faint); margin: 0; }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 15px; margin: 22px 0 8px; }
.bad { color: var(--stall); } .note { color: var(--faint); font-size: 12px; margin: 4px 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 10px; margin: 16px 0; }
.figures div { background: var(--track); border-radius: 8px; padding: 10px 14px; }
.figures h2 { font-size: 12px; font-weight: 500; color: var(--faint); margin: 0; }
.figures .value { font-size: 19px; font-weight: 600; margin: 2px 0; white-space: nowrap; }
.figures .value span { font-size: 14px; font-weight: 400; color: var(--faint); }
#view { position: relative; } #view svg { display: block; width: 100%; touch-action: none; cursor: grab; outline: none; }
#view svg:active { cursor: grabbing; } #view svg:focus-visible { outline: 2px solid var(--all_to_all); }
#view text { user-select: none; } .picture text.inside { font-size: 11px; fill: #fff; pointer-events: none; }
.picture text.on-kernel { fill: var(--text); } .picture .link { fill: none; stroke: var(--text); stroke-width: 1.2; }
.picture .mark { fill: none; stroke: var(--text); stroke-width: 2; }
#tip { position: absolute; pointer-events: none; background: var(--back); border: 1px solid var(--line);
  border-radius: 6px; padding: 6px 10px; font-size: 12px; box-shadow: 0 4px 14px rgb(0 0 0 / 25%); max-width: 420px;
  overflow-wrap: anywhere; z-index: 1; } #tip b { display: block; } #tip .bad { font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; font-weight: 500; color: var(--faint); } td, th { padding: 5px 12px 5px 0; vertical-align: top; }
td { border-top: 1px solid var(--line); } td:nth-child(-n+2) { white-space: nowrap; font-variant-numeric: tabular-nums; }
details { margin: 8px 0; }
td:nth-child(3) { overflow-wrap: anywhere; min-width: 17em; }
.run td:nth-child(3) { white-space: nowrap; font-variant-numeric: tabular-nums; min-width: 0; }
.run td:nth-child(4) { overflow-wrap: anywhere; min-width: 17em; } tr[data-begin] { cursor: pointer; } tr[data-begin]:hover { background: var(--track); }
)css";

const std::string_view page_script = R"js(
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const svg = document.querySelector('#view svg'), tip = document.getElementById('tip');
const left = +svg.dataset.left, width = +svg.dataset.width, whole = Math.max(data.shown, 1);
const KERNEL = data.looks.indexOf('kernel'), STALL = data.looks.indexOf('stall');

// Differences back into times. Bars of a lane ascend and do not overlap.
data.sides.forEach((side, s) => {
  side.names = data.tables[side.table];
  side.number = s;
  side.lanes.forEach((lane, k) => {
    const n = lane.bars.length / 4;
    lane.id = new Int32Array(n); lane.look = new Uint8Array(n);
    lane.begin = new Float64Array(n); lane.end = new Float64Array(n);
    for (let i = 0, t = 0; i < n; ++i) {
      lane.id[i] = lane.bars[4 * i];
      lane.begin[i] = t += lane.bars[4 * i + 1];
      lane.end[i] = t += lane.bars[4 * i + 2];
      lane.look[i] = lane.bars[4 * i + 3];
    }
    lane.group = document.getElementById(`lane${s}-${k}`);
    lane.height = +lane.group.dataset.height;
    lane.y = +lane.group.parentNode.getAttribute('transform').match(/,([\d.]+)/)[1];
  });
  const m = side.memory, n = m.length / 2;
  side.since = new Float64Array(n); side.live = new Float64Array(n);
  for (let i = 0, t = 0, b = 0; i < n; ++i) { side.since[i] = t += m[2 * i]; side.live[i] = b += m[2 * i + 1]; }
  side.group = document.getElementById('memory' + s);
  side.height = +side.group.dataset.height;
  side.y = +side.group.parentNode.getAttribute('transform').match(/,([\d.]+)/)[1];
  side.top = +document.getElementById('scale' + s).dataset.top;
  side.endGroup = document.getElementById('end' + s);
  side.byStart = new Map(); side.byWait = new Map();
  for (let i = 0, c = side.collectives; i < c.length; i += 5) {
    const one = { start: c[i], wait: c[i + 1], needed: c[i + 2], exposed: c[i + 3], reason: data.reasons[c[i + 4]] };
    side.byStart.set(one.start, one);
    if (one.wait >= 0) side.byWait.set(one.wait, one);
  }
});
const overlay = document.createElementNS(svg.namespaceURI, 'g');
overlay.setAttribute('transform', `translate(${left},0)`);
overlay.setAttribute('clip-path', 'url(#plot)');
overlay.style.pointerEvents = 'none';
svg.append(overlay);

let from = 0, to = whole, pending = false;

function human(ns) {
  for (const [unit, size] of [['s', 1e10], ['ms', 1e6], ['us', 1e3]])
    if (ns >= size * (unit === 's' ? 1 : 0.9995)) {
      const x = ns / (unit === 's' ? 1e9 : size);
      return x.toFixed(x < 100 ? 2 : x < 1000 ? 1 : 0) + ' ' + unit;
    }
  return Math.round(ns) + ' ns';
}
function amount(b) {
  for (const unit of ['B', 'KiB', 'MiB']) { if (b < 1023.5) return b.toFixed(unit === 'B' ? 0 : 2) + ' ' + unit; b /= 1024; }
  return b.toFixed(2) + ' GiB';
}
const escaped = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
/// The first index whose value is above x.
function above(list, x) {
  let low = 0, high = list.length;
  while (low < high) { const middle = (low + high) >> 1; if (list[middle] > x) high = middle; else low = middle + 1; }
  return low;
}
const rounded = x => Math.round(x * 10) / 10;
const rectangle = (x, y, w, h) => `M${rounded(x)} ${rounded(y)}h${rounded(w)}v${h}h${rounded(-w)}z`;

const toX = t => (t - from) * width / (to - from);

/// As the picture was drawn first: bars of two units or more one by one, smaller ones as shares of columns.
function drawLane(lane, side) {
  const scale = width / (to - from), height = lane.height, paths = data.looks.map(() => '');
  const columns = data.looks.map(() => null), covered = new Float64Array(width + 1), labels = [];
  for (let i = above(lane.end, from); i < lane.id.length && lane.begin[i] < to; ++i) {
    const x0 = Math.max((lane.begin[i] - from) * scale, -4), x1 = Math.min((lane.end[i] - from) * scale, width + 4);
    const look = lane.look[i];
    if (x1 - x0 >= 2) {
      paths[look] += rectangle(x0, 0, x1 - x0 > 6 ? x1 - x0 - 0.7 : x1 - x0, height);
      for (const x of [x0, x1]) {  // the rest of these columns is left for smaller bars
        const column = Math.floor(x), share = x === x0 ? column + 1 - x0 : x1 - column;
        if (column >= 0 && column <= width) covered[column] += share;
      }
      const room = Math.floor((Math.min(x1, width) - Math.max(x0, 0) - 8) / 6.3);
      if (room >= 6) {
        const waited = look === STALL && side.byWait.get(lane.id[i]);
        const name = side.names.names[waited ? waited.start : lane.id[i]];
        labels.push(`<text class="inside${look === KERNEL ? ' on-kernel' : ''}" x="${(Math.max(x0, 0) + 4).toFixed(1)}" y="${height / 2 + 4}">` +
          escaped(name.length > room ? name.slice(0, room - 5) + '\u2026' + name.slice(-4) : name) + '</text>');
      }
      continue;
    }
    const shares = columns[look] ??= new Float64Array(width + 1);
    for (let x = Math.max(x0, 0); x < x1;) {
      const column = Math.min(Math.floor(x), width), until = Math.min(x1, column + 1);
      shares[column] += until - x;
      if (column === width) break;
      x = until;
    }
  }
  const filled = new Float64Array(width + 1);
  columns.forEach((shares, look) => {
    if (!shares) return;
    const heightAt = i => Math.round(Math.min(shares[i] / Math.max(1 - covered[i], 0.01), 1) * height);
    for (let i = 0; i <= width;) {
      const h = heightAt(i), below = look === STALL ? 0 : filled[i];
      let end = i + 1;
      while (end <= width && (look === STALL || filled[end] === below) && heightAt(end) === h) ++end;
      if (h > 0) paths[look] += rectangle(i, look === STALL ? 0 : height - below - h, end - i, h);
      for (; i < end; ++i) if (look !== STALL) filled[i] += h;
    }
  });
  lane.group.innerHTML = paths.map((d, look) => d && `<path class="${data.looks[look]}" d="${d}"/>`).join('') + labels.join('');
}

function drawMemory(side) {
  const scale = width / (to - from), top = new Float64Array(width + 1).fill(side.height);
  for (let i = Math.max(above(side.since, from) - 1, 0); i < side.since.length && side.since[i] < to; ++i) {
    const until = i + 1 < side.since.length ? side.since[i + 1] : side.step;
    const y = side.height * (1 - side.live[i] / side.top);
    const last = Math.min(Math.floor((until - from) * scale), width);
    for (let x = Math.max(Math.floor((side.since[i] - from) * scale), 0); x <= last; ++x) if (y < top[x]) top[x] = y;
  }
  let d = `M0 ${side.height}`;
  for (let x = 0; x <= width;) {
    let end = x + 1;
    while (end <= width && top[end] === top[x]) ++end;
    d += `V${top[x].toFixed(1)}H${end}`;
    x = end;
  }
  side.group.innerHTML = `<path class="memory" d="${d}V${side.height}z"/>`;
  // The end of the step, and behind it the time that is saved.
  const x = toX(side.step), height = +side.endGroup.dataset.height, before = data.sides[0].step;
  let end = '';
  if (side.number < 2 && side.step < before && x < width) {
    const begin = Math.max(x, -4), w = Math.min(toX(before), width + 4) - begin;
    if (w > 0) end += `<path class="saved" d="${rectangle(begin, 0, w, height)}"/>`;
    const line = (text, y) => `<text class="saved-text middle" x="${(begin + w / 2).toFixed(1)}" y="${y}">${text}</text>`;
    if (w > 60) end += line(human(before - side.step), height / 2) + line('saved', height / 2 + 15);
  }
  if (x >= 0 && x <= width + 1) end += `<path class="end" d="M${x.toFixed(1)} 0v${height}"/>`;
  side.endGroup.innerHTML = end;
}

function drawAxis() {
  let step = 1;
  for (let k = 0; (to - from) / step > 10; ++k) step *= k % 3 === 1 ? 2.5 : 2;
  const [unit, size] = to >= 1e6 ? ['ms', 1e6] : to >= 1e3 ? ['us', 1e3] : ['ns', 1];
  const decimals = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  let out = '';
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const x = (t - from) * width / (to - from);
    out += `<path class="grid" d="M${x.toFixed(1)} 0v5"/><text class="faint middle" x="${x.toFixed(1)}" y="18">${t === 0 ? '0' : (t / size).toFixed(decimals) + ' ' + unit}</text>`;
  }
  document.getElementById('axis').innerHTML = out;
}

function draw() {
  pending = false;
  for (const side of data.sides) { for (const lane of side.lanes) drawLane(lane, side); drawMemory(side); }
  drawAxis();
  overlay.innerHTML = '';
  document.getElementById('shown').textContent =
    from === 0 && to === whole ? 'whole step shown' : `${human(from)} to ${human(to)} shown`;
}
function show(a, b) {
  const span = Math.min(Math.max(b - a, Math.min(200, whole)), whole);
  a = Math.min(Math.max((a + b - span) / 2, 0), whole - span);
  from = a; to = a + span;
  history.replaceState(null, '', from === 0 && to === whole ? ' ' : `#${Math.round(from)}-${Math.round(to)}`);
  if (!pending) { pending = true; requestAnimationFrame(draw); }
}
function place(event) {
  const box = svg.getBoundingClientRect(), units = svg.viewBox.baseVal.width / box.width;
  return { x: (event.clientX - box.left) * units - left, y: (event.clientY - box.top) * units, perPixel: units };
}
const timeAt = x => from + x * (to - from) / width;
function zoom(factor, at) { show(at - (at - from) * factor, at + (to - at) * factor); }

/// The bar under the pointer: the one that covers its time, or the nearest within three units.
function barAt(lane, x) {
  const t = timeAt(x), near = 3 * (to - from) / width, i = above(lane.end, t);
  let best = -1, least = near;
  for (const k of [i - 1, i]) {
    if (k < 0 || k >= lane.id.length) continue;
    const distance = Math.max(lane.begin[k] - t, t - lane.end[k], 0);
    if (distance < least) { least = distance; best = k; }
  }
  return best;
}
/// Outlines a collective, and leads from it to the moment it is needed.
function link(side, collective) {
  for (const lane of side.lanes.slice(1)) {
    const i = lane.id.indexOf(collective.start);
    if (i < 0) continue;
    const x0 = toX(lane.begin[i]), x1 = toX(lane.end[i]), y = lane.y, needed = toX(collective.needed);
    const target = side.lanes[0].y + side.lanes[0].height;
    overlay.innerHTML = `<path class="mark" d="M${x0} ${y}H${Math.max(x1, x0 + 1)}v${lane.height}H${x0}z"/>` +
      (collective.wait >= 0 ? `<path class="link" d="M${x1} ${y}L${Math.max(x1, needed)} ${target}m-3 6l3 -6l3 6"/>` : '');
  }
}
function describe(event) {
  const { x, y, perPixel } = place(event);
  overlay.innerHTML = '';
  let text = '';
  if (x >= 0 && x <= width) for (const side of data.sides) {
    for (const lane of side.lanes) {
      if (y < lane.y || y >= lane.y + lane.height) continue;
      const i = barAt(lane, x);
      if (i < 0) continue;
      const id = lane.id[i], collective = side.byStart.get(id) ?? side.byWait.get(id);
      text = `<b>${escaped(side.names.names[id])}</b>${escaped(side.names.ops[side.names.op[id]])}<br>` +
        `${human(lane.end[i] - lane.begin[i])}, from ${human(lane.begin[i])} to ${human(lane.end[i])}`;
      if (lane.look[i] === STALL) text += `<br><span class="bad">the lane waits for ${collective ? escaped(side.names.names[collective.start]) : 'a collective'}</span>`;
      else if (collective) text += `<br>channel ${escaped(lane.title)}` +
        (collective.wait < 0 ? ', never waited for' : `, needed at ${human(collective.needed)} by ${escaped(side.names.names[collective.wait])}`) +
        (collective.exposed > 0 ? `<br><span class="bad">exposed ${human(collective.exposed)} (${collective.reason})</span>` : '<br>hidden');
      if (collective) link(side, collective);
    }
    if (y >= side.y && y < side.y + side.height && timeAt(x) <= side.step) {
      const i = above(side.since, timeAt(x)) - 1;
      if (i >= 0) text = `<b>${amount(side.live[i])}</b>live at ${human(timeAt(x))}`;
    }
  }
  tip.hidden = text === '';
  if (text === '') return;
  tip.innerHTML = text;
  const box = svg.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
  tip.style.left = Math.min(px + 14, box.width - tip.offsetWidth - 4) + 'px';
  tip.style.top = py + 18 + 'px';
}

let drag = null;
svg.addEventListener('wheel', event => {
  event.preventDefault();
  const { x } = place(event);
  if (event.deltaX && Math.abs(event.deltaX) > Math.abs(event.deltaY)) show(from + event.deltaX * (to - from) / width, to + event.deltaX * (to - from) / width);
  else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.002))), timeAt(Math.min(Math.max(x, 0), width)));
}, { passive: false });
svg.addEventListener('pointerdown', event => { if (event.button === 0) { drag = { x: place(event).x, from, to }; svg.setPointerCapture(event.pointerId); tip.hidden = true; } });
svg.addEventListener('pointerup', () => { drag = null; });
svg.addEventListener('pointermove', event => {
  if (!drag) return describe(event);
  const moved = (drag.x - place(event).x) * (drag.to - drag.from) / width;
  show(drag.from + moved, drag.to + moved);
});
svg.addEventListener('pointerleave', () => { tip.hidden = true; overlay.innerHTML = ''; });
svg.addEventListener('dblclick', () => show(0, whole));
svg.tabIndex = 0;
svg.addEventListener('keydown', event => {
  const step = (to - from) / 8, middle = (from + to) / 2;
  if (event.key === '+' || event.key === '=') zoom(0.7, middle);
  else if (event.key === '-') zoom(1 / 0.7, middle);
  else if (event.key === '0') show(0, whole);
  else if (event.key === 'ArrowLeft') show(from - step, to - step);
  else if (event.key === 'ArrowRight') show(from + step, to + step);
  else return;
  event.preventDefault();
});
for (const row of document.querySelectorAll('tr[data-begin]')) {
  const go = () => {
    const begin = +row.dataset.begin, end = +row.dataset.end, span = Math.max(end - begin, 1000);
    show(begin - span, end + span);
    const side = data.sides[1], name = row.cells[2].textContent;
    for (const one of side.byStart.values()) if (side.names.names[one.start] === name) requestAnimationFrame(() => link(side, one));
    svg.scrollIntoView({ behavior: 'smooth', block: 'nearest' });
  };
  row.addEventListener('click', go);
  row.addEventListener('keydown', event => { if (event.key === 'Enter') go(); });
}
document.getElementById('help').hidden = false;
const asked = location.hash.match(/^#(\d+)-(\d+)$/);
if (asked) show(+asked[1], +asked[2]); else draw();
})();
)js";

}  // namespace planner
