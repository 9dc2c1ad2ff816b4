'use strict';
(() => {
// ---- Small tools. Texts from programs become text nodes, never markup.
const data = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);
const maker = (space) => (tag, attributes = {}, ...children) => {
  const node = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value); else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};
const h = maker(''), s = maker('http://www.w3.org/2000/svg');
const bytes = (n) => { let i = 0; for (; n >= 1024 && i < 5; ++i) n /= 1024; return (i ? n.toFixed(1) : n) + [' B', ' KiB', ' MiB', ' GiB', ' TiB', ' PiB'][i]; };
const amount = (n) => n < 1e4 ? String(n) : n < 1e7 ? (n / 1e3).toFixed(0) + 'k' : n < 1e10 ? (n / 1e6).toFixed(0) + 'M' : (n / 1e9).toFixed(0) + 'G';
const time = (t) => t < 1e-3 ? (t * 1e6).toFixed(1) + ' µs' : t < 1 ? (t * 1e3).toFixed(2) + ' ms' : t.toFixed(2) + ' s';
const table = (head, rows, numeric = () => true) => h('div', {class: 'scroll'}, h('table', {}, h('thead', {}, h('tr', {},
  ...head.map((t, i) => h('th', {scope: 'col', class: numeric(i) ? 'n' : ''}, t)))),
  h('tbody', {}, ...rows.map((row) => h('tr', {}, ...row.map((cell, i) => h('td', {class: numeric(i) ? 'n' : ''}, cell instanceof Node ? cell : String(cell))))))));

// ---- The programs.
function readModule(raw) {
  const module = {entry: raw.entry, open: new Set(), byName: new Map(), callers: new Map(), count: 0};
  module.computations = raw.computations.map((c, ci) => {
    const nodes = c.nodes.map(([name, op, shape, operands, text, calls, id], index) => ({name, op, shape, operands, text, calls, id, index, ci, users: []}));
    for (const node of nodes) {
      for (const o of new Set(node.operands)) nodes[o].users.push(node.index);
      for (const callee of node.calls) if (!module.callers.has(callee)) module.callers.set(callee, node);
      module.byName.set(node.name, node);
    }
    module.count += nodes.length;
    return {name: c.name, root: c.root, nodes};
  });
  module.operands = (node) => node.operands.map((o) => module.computations[node.ci].nodes[o]);
  return module;
}
const programs = {before: readModule(data.before), after: readModule(data.after)};
// Twins: what passes kept; and of the rest what looks alike and comes from the same place, which fusions have copied.
(() => {
  const all = (module) => module.computations.flatMap((c) => c.nodes), before = all(programs.before), after = all(programs.after);
  const ids = new Map(before.map((node) => [node.id, node])), pair = (a, b, moved) => { a.twin = b; b.twin = a; a.moved = b.moved = moved; };
  for (const node of after) if (ids.has(node.id)) pair(ids.get(node.id), node, false);
  const looks = (node) => [node.op, node.shape, (node.text.match(/metadata=\{.*?\}/) || [''])[0]].join(' '), left = new Map();
  for (const node of before) if (!node.twin && node.op !== 'parameter') left.has(looks(node)) ? left.get(looks(node)).push(node) : left.set(looks(node), [node]);
  for (const node of after) if (!node.twin && left.get(looks(node))?.length) pair(left.get(looks(node)).shift(), node, true);
  for (const [module, other, missing] of [[programs.before, programs.after, 'gone'], [programs.after, programs.before, 'new']]) {
    for (const node of all(module)) {
      const mine = module.operands(node), theirs = node.twin && other.operands(node.twin);
      const same = node.twin && node.op === node.twin.op && node.shape === node.twin.shape && mine.length === theirs.length && mine.every((o, i) => o.twin === theirs[i]);
      node.state = !node.twin ? missing : node.moved ? 'moved' : same ? 'same' : 'changed';
    }
  }
})();
const operations = data.code.operations || [];
const codeOf = new Map(operations.map((o) => [o.name, o]));
const buffersOf = new Map();
(data.memory.buffers || []).forEach((b, i) => b[7].forEach((value) => {
  const name = value.split(/[ {]/)[0];
  if (!buffersOf.has(name)) buffersOf.set(name, []);
  buffersOf.get(name).push(i);
}));

// ---- Summary.
function summary() {
  const {phases, kernels, fused, codeBytes, estimate} = data.summary, memory = data.memory, here = $('summary');
  const total = phases.reduce((sum, [, t]) => sum + t, 0);
  const fact = (value, label) => h('div', {}, h('b', {}, value), h('span', {class: 'soft'}, label));
  here.append(h('div', {class: 'facts'}, fact(`${programs.before.count} → ${programs.after.count}`, 'instructions'), fact(kernels, 'kernels'),
    fact(fused, 'instructions in fusions'), fact(time(total), 'compilation'), fact(bytes(codeBytes), 'machine code'),
    ...('arena' in memory ? [fact(bytes(memory.arguments + memory.results - memory.aliased + memory.arena), 'peak of a run'),
      fact(bytes(memory.arena), 'arena for temporaries'), fact(bytes(memory.workspace), 'workspace of kernels'), fact(bytes(memory.arguments), 'arguments'), fact(bytes(memory.results), 'results')] : []),
    fact(estimate >= 1e18 ? 'unknown' : time(estimate * 1e-9), 'a run on one thread, estimated')));
  const colors = ['#0969da', '#8250df', '#bf8700', '#cf222e', '#1a7f37'];
  here.append(h('h3', {}, 'Where the compilation went'), h('div', {class: 'phases', 'aria-hidden': 'true'}, ...phases.map(([name, t], i) =>
    h('span', {style: `flex:${t / (total || 1)} 0 0;background:${colors[i]}`, title: `${name}: ${time(t)}`}))),
    h('p', {}, ...phases.map(([name, t], i) => h('span', {style: 'margin-right:16px'}, h('span', {style: `color:${colors[i]}`}, '■ '), `${name} ${time(t)} (${(t / (total || 1) * 100).toFixed(0)} %)`))));
  const rows = new Map();
  for (const [, pass, changed, seconds, before, after, added, removed] of data.passes) {
    const row = rows.get(pass) || {pass, runs: 0, changing: 0, seconds: 0, delta: 0, added: 0, removed: 0};
    row.runs++; row.changing += changed; row.seconds += seconds; row.delta += after - before; row.added += added; row.removed += removed;
    rows.set(pass, row);
  }
  const idle = [...rows.values()].filter((r) => !r.changing);
  const signed = (n) => n > 0 ? '+' + n : String(n);
  here.append(h('h3', {}, 'What the passes changed'), table(['pass', 'time', 'runs', 'that changed', 'instructions', 'written', 'removed'],
    [...rows.values()].filter((r) => r.changing).map((r) => [r.pass, time(r.seconds), r.runs, r.changing, signed(r.delta), r.added, r.removed]), (i) => i > 0));
  if (idle.length) here.append(h('p', {class: 'soft'}, `Nothing to change found, in ${time(idle.reduce((sum, r) => sum + r.seconds, 0))}: ${idle.map((r) => r.pass).join(', ')}.`));
  here.append(h('details', {}, h('summary', {}, 'Every run that changed something, in order'), table(['#', 'group', 'pass', 'time', 'before', 'after', 'written', 'removed'],
    data.passes.filter((p) => p[2]).map(([group, pass, , t, before, after, added, removed], i) => [i + 1, group, pass, time(t), before, after, added, removed]), (i) => i !== 1 && i !== 2)));
}

// ---- The graph: layers from operands to users; what calls computations opens into a box with their layouts.
const KINDS = [[/^(parameter|constant|iota|tuple|get-tuple-element)$/, 'data'], [/^(dot|convolution|fft|cholesky|triangular-solve|ragged-dot)$/, 'math'],
  [/^(reduce|reduce-window|scan|sort|scatter|select-and-scatter|all-reduce)/, 'sum'], [/^fusion$/, 'fused'], [/^(while|conditional|call|custom-call|map)/, 'flow'],
  [/^(reshape|bitcast|copy|transpose|broadcast|slice|concatenate|pad|reverse|gather|dynamic-|convert)/, 'move']];
const kindOf = (op) => (KINDS.find(([test]) => test.test(op)) || [0, 'plain'])[1];
const short = (text, n) => text.length > n ? text.slice(0, n - 1) + '…' : text;
const FULL = 60000;  // cells of long edges; beyond that they are drawn straight
let constants = false, cells = 0;

function layOut(module, ci) {
  const computation = module.computations[ci], at = new Map(), layers = [], edges = [];
  for (const node of computation.nodes) {
    if (node.op === 'constant' && !constants && node.index !== computation.root) continue;
    const label = short(node.name, 34), under = short(`${node.op} ${node.shape}`, 34);
    const cell = {node, label, under, inner: [], up: [], down: [], layer: 0, w: 16 + 6.7 * Math.max(label.length + (node.calls.length ? 2 : 0), under.length), h: 36};
    if (module.open.has(node)) {
      let x = 8;
      for (const callee of node.calls) {
        const sub = layOut(module, callee);
        cell.inner.push({x, y: 40, sub});
        x += sub.w + 10;
        cell.h = Math.max(cell.h, sub.h + 48);
      }
      cell.w = Math.max(cell.w, x);
    }
    const from = [...new Set(node.operands)].map((o) => at.get(o)).filter(Boolean);
    cell.from = from;
    cell.layer = from.reduce((most, o) => Math.max(most, o.layer + 1), 0);
    at.set(node.index, cell);
  }
  const all = [...at.values()];
  for (let i = all.length - 1; i >= 0; --i) {  // sources stand next to who reads them first
    const users = all[i].node.users.map((u) => at.get(u)).filter(Boolean);
    if (!all[i].from.length && users.length) all[i].layer = Math.max(0, users.reduce((least, u) => Math.min(least, u.layer), Infinity) - 1);
  }
  const link = (a, b) => { a.down.push(b); b.up.push(a); };
  for (const cell of all) (layers[cell.layer] ??= []).push(cell);
  for (const cell of all) for (const source of cell.from) {
    const chain = [source];
    for (let l = source.layer + 1; l < cell.layer && cells < FULL; ++l, ++cells) {
      const bend = {up: [], down: [], layer: l, w: 4, h: 0};
      (layers[l] ??= []).push(bend);
      link(chain[chain.length - 1], bend);
      chain.push(bend);
    }
    link(chain[chain.length - 1], cell);
    chain.push(cell);
    edges.push(chain);
  }
  for (let l = 0; l < layers.length; ++l) layers[l] ??= [];
  const number = (layer) => layer.forEach((cell, i) => { cell.place = i; });
  layers.forEach(number);
  const sweep = (layer, side) => {
    for (const cell of layer) cell.key = cell[side].length ? cell[side].reduce((sum, n) => sum + n.place, 0) / cell[side].length : cell.place;
    layer.sort((a, b) => a.key - b.key || a.place - b.place);
    number(layer);
  };
  for (let round = 0; round < 4; ++round) {
    for (let l = 1; l < layers.length; ++l) sweep(layers[l], 'up');
    for (let l = layers.length - 2; l >= 0; --l) sweep(layers[l], 'down');
  }
  for (const layer of layers) { let x = 0; for (const cell of layer) { cell.c = x + cell.w / 2; x += cell.w + 18; } }
  const settle = (layer, sides) => {  // between the places that lean left and those that lean right
    const wanted = layer.map((cell) => { const near = sides.flatMap((side) => cell[side]); return near.length ? near.reduce((sum, n) => sum + n.c, 0) / near.length : cell.c; });
    const gap = (i) => (layer[i].w + layer[i + 1].w) / 2 + 18, right = [...wanted], left = [...wanted];
    for (let i = 1; i < layer.length; ++i) right[i] = Math.max(wanted[i], right[i - 1] + gap(i - 1));
    for (let i = layer.length - 2; i >= 0; --i) left[i] = Math.min(wanted[i], left[i + 1] - gap(i));
    layer.forEach((cell, i) => { cell.c = (right[i] + left[i]) / 2; });
  };
  for (let round = 0; round < 3; ++round) {
    for (let l = 1; l < layers.length; ++l) settle(layers[l], round ? ['up', 'down'] : ['up']);
    for (let l = layers.length - 2; l >= 0; --l) settle(layers[l], round ? ['up', 'down'] : ['down']);
  }
  let y = 10, least = Infinity, most = 0;
  for (const layer of layers) {
    const tall = layer.reduce((t, cell) => Math.max(t, cell.h), 0);
    for (const cell of layer) { cell.y = y; cell.tall = tall; least = Math.min(least, cell.c - cell.w / 2); most = Math.max(most, cell.c + cell.w / 2); }
    y += tall + 30 + Math.min(60, layer.length);
  }
  if (least === Infinity) least = 0;
  for (const layer of layers) for (const cell of layer) cell.c -= least - 10;
  return {w: most - least + 20, h: y, cells: all, edges, title: computation.name, flow: layers};
}

const view = {x: 0, y: 0, scale: 1}, canvas = $('canvas');
let flat = {items: [], edges: [], w: 1, h: 1}, program = programs.after, picked = null, built = null;

function flatten(layout, dx, dy, depth) {
  for (const cell of layout.cells) {
    const x = dx + cell.c - cell.w / 2, yy = dy + cell.y;
    const item = {x, y: yy, w: cell.w, h: cell.h, node: cell.node, cell, depth, open: cell.inner.length > 0};
    flat.items.push(item);
    flat.of.set(cell.node, item);
    for (const {x: ix, y: iy, sub} of cell.inner) flatten(sub, x + ix, yy + iy, depth + 1);
  }
  for (const chain of layout.edges) {
    const points = [], first = chain[0], last = chain[chain.length - 1];
    points.push([dx + first.c, dy + first.y + first.h]);
    if (first.h < first.tall) points.push([dx + first.c, dy + first.y + first.tall]);
    for (const bend of chain.slice(1, -1)) points.push([dx + bend.c, dy + bend.y], [dx + bend.c, dy + bend.y + bend.tall]);
    points.push([dx + last.c, dy + last.y]);
    const xs = points.map((p) => p[0]);
    flat.edges.push({from: first.node, to: last.node, points, x: Math.min(...xs), w: Math.max(...xs) - Math.min(...xs), y: points[0][1], h: points[points.length - 1][1] - points[0][1]});
  }
}
function relayout(keep) {
  const before = keep && flat.of && flat.of.get(keep);
  cells = 0;
  const layout = layOut(program, program.entry);
  flat = {items: [], edges: [], of: new Map(), w: layout.w, h: layout.h};
  flatten(layout, 0, 0, 0);
  const after = keep && flat.of.get(keep);
  if (before && after) { view.x += after.x - before.x; view.y += after.y - before.y; }
  $('graph-note').textContent = `${flat.items.length} of ${program.count} instructions shown`;
  built = null;
  draw();
}
const curve = (points) => points.map(([x, y], i) => {
  if (!i) return `M${x | 0} ${y | 0}`;
  const [px, py] = points[i - 1], middle = (py + y) / 2 | 0;
  return px === x ? `V${y | 0}` : `C${px | 0} ${middle} ${x | 0} ${middle} ${x | 0} ${y | 0}`;
}).join('');
const meets = (a, b) => a.x <= b.x + b.w && a.x + a.w >= b.x && a.y <= b.y + b.h && a.y + a.h >= b.y;
function draw() {
  const box = canvas.getBoundingClientRect(), w = Math.max(1, box.width) / view.scale, tall = Math.max(1, box.height) / view.scale;
  canvas.setAttribute('viewBox', `${view.x} ${view.y} ${w} ${tall}`);
  if (built && built.scale === view.scale && view.x >= built.x && view.y >= built.y && view.x + w <= built.x + built.w && view.y + tall <= built.y + built.h) return;
  built = {x: view.x - w * .4, y: view.y - tall * .4, w: w * 1.8, h: tall * 1.8, scale: view.scale};
  const items = flat.items.filter((item) => meets(item, built)).sort((a, b) => a.depth - b.depth), parts = [];
  const edges = flat.edges.filter((edge) => meets(edge, built)).slice(0, 8000);
  const lines = (some, kind) => s('path', {class: kind, d: some.map((e) => curve(e.points)).join('')});
  if (items.length > 1200 || view.scale < .12) {  // from afar: colours alone
    const byKind = {};
    for (const item of items) (byKind[item.open ? 'open' : kindOf(item.node.op)] ??= []).push(`M${item.x | 0} ${item.y | 0}h${item.w | 0}v${item.h | 0}h${-item.w | 0}z`);
    if (byKind.open) parts.push(s('path', {d: byKind.open.join(''), fill: 'var(--box)', stroke: 'var(--edge)'}));
    parts.push(lines(edges.slice(0, 4000), 'edge'));
    for (const [kind, paths] of Object.entries(byKind)) if (kind !== 'open') parts.push(s('path', {d: paths.join(''), fill: `var(--${kind})`, stroke: 'var(--edge)'}));
    const item = flat.of.get(picked);
    if (item) parts.push(s('rect', {x: item.x, y: item.y, width: item.w, height: item.h, class: 'lit', fill: 'none'}));
  } else {
    const nodes = items.map(nodeShape);
    const opened = items.reduce((n, item) => n + item.open, 0);  // boxes lie under the edges, closed nodes over them
    if (opened) parts.push(...nodes.filter((_, i) => items[i].open));
    parts.push(lines(edges, 'edge'), ...nodes.filter((_, i) => !items[i].open));
  }
  if (picked) parts.push(lines(flat.edges.filter((e) => e.from === picked || e.to === picked).slice(0, 500), 'lit'));
  canvas.replaceChildren(...parts);
}
function nodeShape(item) {
  const {node, cell} = item, group = s('g', {class: `node${item.open ? ' holder' : ''}${node === picked ? ' picked' : ''}`, role: 'button', 'aria-label': `${node.name}: ${node.op} ${node.shape}`});
  group.append(s('title', {}, short(node.text, 1500)), s('rect', {x: item.x, y: item.y, width: item.w, height: item.h, rx: 5, fill: `var(--${kindOf(node.op)})`,
    'stroke-width': node.state === 'same' ? 1 : 1.5, 'stroke-dasharray': program === programs.after && node.state === 'new' ? '4 2' : 'none'}),
    s('text', {x: item.x + 8, y: item.y + 15}, (node.calls.length ? (item.open ? '▾ ' : '▸ ') : '') + cell.label), s('text', {x: item.x + 8, y: item.y + 29, opacity: .75}, cell.under));
  group.addEventListener('click', () => pick(node));
  group.addEventListener('dblclick', () => toggle(node));
  return group;
}
function toggle(node) {
  if (!node || !node.calls.length) return;
  if (!program.open.delete(node)) program.open.add(node);
  relayout(node);
  pick(node);
}
function fit() {
  const box = canvas.getBoundingClientRect();
  view.scale = Math.min(1.2, box.width / flat.w, box.height / flat.h);
  if (view.scale < .35 && flat.items.length > 60) view.scale = .35;  // readable rather than whole: begin at the top
  view.x = flat.w / 2 - box.width / view.scale / 2;
  view.y = -10;
  built = null;
  draw();
}
function zoom(factor, px, py) {
  const box = canvas.getBoundingClientRect(), next = Math.min(4, Math.max(.01, view.scale * factor));
  px ??= box.width / 2; py ??= box.height / 2;
  view.x += px / view.scale - px / next; view.y += py / view.scale - py / next; view.scale = next;
  draw();
}
function reveal(node) {  // opens what the instruction is in, and goes there
  let changed = false;
  for (let at = program.callers.get(node.ci), guard = 0; at && guard < 1000; at = program.callers.get(at.ci), ++guard) {
    if (!program.open.has(at)) { program.open.add(at); changed = true; }
  }
  if (node.op === 'constant' && !constants) { constants = $('constants').checked = true; changed = true; }
  if (changed) relayout();
  const item = flat.of.get(node), box = canvas.getBoundingClientRect();
  if (!item) return;
  if (view.scale < .5) view.scale = .9;
  view.x = item.x + item.w / 2 - box.width / view.scale / 2;
  view.y = item.y + Math.min(item.h, box.height / view.scale) / 2 - box.height / view.scale / 2;
  pick(node);
}
const linkTo = (node) => h('button', {class: 'link', type: 'button', onclick: () => reveal(node)}, node.name);
function pick(node) {
  picked = node;
  built = null;
  draw();
  const pane = $('detail');
  if (!node) return pane.replaceChildren(h('p', {class: 'soft'}, 'Nothing is selected.'));
  const nodes = program.computations[node.ci].nodes, list = (title, some) => some.length ? [h('h3', {}, title), h('ul', {}, ...some.slice(0, 60).map((n) => h('li', {}, linkTo(n), ' ', short(`${n.op} ${n.shape}`, 60))),
    some.length > 60 ? h('li', {}, `and ${some.length - 60} more`) : null)] : [];
  const code = program === programs.after && codeOf.get(node.name), own = program === programs.after ? buffersOf.get(node.name) || [] : [];
  pane.replaceChildren(h('h3', {}, node.name), h('p', {}, `${node.op} ${node.shape}`, h('br'), h('span', {class: `key ${node.state}`}, node.state), ` in ${program.computations[node.ci].name}`),
    h('p', {}, node.calls.length ? h('button', {type: 'button', onclick: () => toggle(node)}, program.open.has(node) ? 'Close' : 'Open') : null, ' ',
      code ? h('button', {type: 'button', onclick: () => showKernel(node.name)}, 'Kernel and assembly') : null),
    h('pre', {}, node.text), ...(node.twin && node.state !== 'same' ? [h('h3', {}, program === programs.after ? 'it was' : 'it became'), h('pre', {}, node.twin.text)] : []),
    ...list('operands', program.operands(node)), ...list('users', node.users.map((u) => nodes[u])),
    ...(own.length ? [h('h3', {}, 'memory'), h('ul', {}, ...own.slice(0, 20).map((b) => h('li', {}, describeBuffer(b))))] : []));
}
function keys(event) {
  const nodes = picked && program.computations[picked.ci].nodes, step = 60 / view.scale;
  const row = () => flat.items.filter((i) => i.node.ci === picked.ci && i.cell.layer === flat.of.get(picked)?.cell.layer).sort((a, b) => a.x - b.x);
  const beside = (by) => { const r = row(), i = r.findIndex((x) => x.node === picked); if (r[i + by]) reveal(r[i + by].node); };
  const shown = (some) => some.find((n) => flat.of.has(n));
  const go = (node) => { if (node) reveal(node); };
  const pan = (x, y) => { view.x += x; view.y += y; draw(); };
  const actions = {ArrowUp: () => picked ? go(shown(program.operands(picked))) : pan(0, -step), ArrowDown: () => picked ? go(shown(picked.users.map((u) => nodes[u]))) : pan(0, step),
    ArrowLeft: () => picked ? beside(-1) : pan(-step, 0), ArrowRight: () => picked ? beside(1) : pan(step, 0), '+': () => zoom(1.25), '=': () => zoom(1.25), '-': () => zoom(.8), '0': fit,
    Enter: () => picked ? toggle(picked) : go(program.computations[program.entry].nodes[program.computations[program.entry].root]), ' ': () => toggle(picked), Escape: () => pick(null)};
  if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}
function search() {
  const text = $('search').value.trim().toLowerCase(), found = [], box = $('found');
  box.hidden = !text;
  if (!text) return;
  for (const c of program.computations) for (const node of c.nodes) if (found.length < 60 && node.text.toLowerCase().includes(text)) found.push(node);
  const rank = (n) => (n.name.toLowerCase().includes(text) ? 2 : 0) + (n.op.startsWith(text) ? 1 : 0);
  found.sort((a, b) => rank(b) - rank(a));
  box.replaceChildren(...(found.length ? found.map((node) => h('div', {}, linkTo(node), ' ', short(`${node.op} ${node.shape}`, 100))) : ['nothing found']));
}
function graph() {
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .0015)), event.clientX - box.left, event.clientY - box.top);
  }, {passive: false});
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => { drag = {x: event.clientX, y: event.clientY, far: false}; });
  canvas.addEventListener('pointermove', (event) => {
    if (!drag || !event.buttons) { drag = null; return; }
    if (!drag.far && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 4) return;
    if (!drag.far) { drag.far = true; canvas.setPointerCapture(event.pointerId); }
    view.x -= (event.clientX - drag.x) / view.scale; view.y -= (event.clientY - drag.y) / view.scale;
    drag.x = event.clientX; drag.y = event.clientY;
    draw();
  });
  canvas.addEventListener('pointerup', () => { drag = null; });
  canvas.addEventListener('keydown', keys);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); $('search').focus(); }
  });
  $('search').addEventListener('input', search);
  $('search').addEventListener('keydown', (event) => {
    if (event.key === 'Enter') $('found').querySelector('button')?.click();
    if (event.key === 'Escape') { $('search').value = ''; search(); canvas.focus(); }
  });
  $('fit').addEventListener('click', fit);
  $('open-all').addEventListener('click', () => {
    const holders = program.computations.flatMap((c) => c.nodes.filter((n) => n.calls.length && /^(fusion|while|conditional|call)$/.test(n.op)));
    holders.slice(0, 2000).forEach((n) => program.open.add(n));
    relayout(); fit();
  });
  $('close-all').addEventListener('click', () => { program.open.clear(); relayout(); fit(); });
  $('constants').addEventListener('change', () => { constants = $('constants').checked; relayout(); });
  $('which').addEventListener('change', () => { program = programs[$('which').value]; picked = null; relayout(); fit(); pick(null); search(); });
  new ResizeObserver(() => { built = null; draw(); }).observe(canvas);
  relayout();
  fit();
  pick(null);
}

// ---- Before and after.
function compare() {
  const rows = new Map([[programs.before, new Map()], [programs.after, new Map()]]), sides = {before: $('text-before'), after: $('text-after')};
  const openers = new Map();
  const highlight = (module, node, scroll) => {
    openers.get(module)[node.ci]();
    const row = rows.get(module).get(node), side = module === programs.before ? sides.before : sides.after;
    side.querySelectorAll('.here').forEach((old) => old.classList.remove('here'));
    row.classList.add('here');
    if (scroll) side.scrollTop += row.getBoundingClientRect().top - side.getBoundingClientRect().top - side.clientHeight / 3;
  };
  const choose = (module, other, node) => {
    highlight(module, node, false);
    if (node.twin) highlight(other, node.twin, true);
    if (program !== module) { $('which').value = module === programs.after ? 'after' : 'before'; program = module; relayout(); }
    reveal(node);
  };
  const fill = (module, other, side) => {
    const open = [];
    openers.set(module, open);
    const order = module.computations.map((_, i) => i).reverse().sort((a, b) => (b === module.entry) - (a === module.entry));
    for (const ci of order) {
      const c = module.computations[ci], changes = c.nodes.filter((n) => n.state !== 'same').length;
      const block = h('details', {}, h('summary', {}, `${ci === module.entry ? 'ENTRY ' : ''}${c.name} `, h('span', {class: 'soft'}, `${c.nodes.length} instructions, ${changes} differ`)));
      const show = () => {
        block.open = true;
        if (block.childElementCount > 1) return;
        for (let i = 0; i < c.nodes.length; i += 100) block.append(h('div', {class: 'chunk'}, ...c.nodes.slice(i, i + 100).map((node) => {
          const row = h('div', {class: `row ${node.state}`, tabindex: 0}, short(node.text, 2000));
          row.addEventListener('click', () => choose(module, other, node));
          row.addEventListener('keydown', (event) => { if (event.key === 'Enter') choose(module, other, node); });
          rows.get(module).set(node, row);
          return row;
        })));
      };
      open[ci] = show;
      block.addEventListener('toggle', () => { if (block.open) show(); });
      side.append(block);
      if (ci === module.entry) show();
    }
  };
  fill(programs.before, programs.after, sides.before);
  fill(programs.after, programs.before, sides.after);
  $('only-changed').addEventListener('change', (event) => Object.values(sides).forEach((side) => side.classList.toggle('only', event.target.checked)));
  $('compare-note').textContent = 'Moved ones stand in a fusion now. A click finds an instruction on the other side and in the graph.';
}

// ---- Memory.
const place = (storage, number, offset) => storage === 'arena' ? `arena at ${offset}` : /stack|workspace/.test(storage) ? storage : `${storage} ${number}${offset ? ` at ${offset}` : ''}`;
const describeBuffer = (i) => {
  const [storage, number, offset, size, first, last, scratch, values] = data.memory.buffers[i];
  return `${place(storage, number, offset)}${scratch ? ', scratch' : ''}: ${bytes(size)}, steps ${first} to ${last}: ${short(values.join(', ') || 'no value', 300)}`;
};
function memory() {
  const plan = data.memory, here = $('memory');
  if (plan.error) return here.append(h('p', {}, plan.error));
  const steps = Math.max(plan.steps.length, 1), arena = plan.buffers.map((b, i) => [b, i]).filter(([b]) => b[0] === 'arena' && b[3] > 0);
  const note = h('p', {role: 'status'}, 'Point at a rectangle, or step to it with Tab, to see what lives there.');
  here.append(h('p', {}, `The arena has ${bytes(plan.arena)}; at most ${bytes(plan.peak)} of it hold something, at step ${plan.peakStep} (${plan.steps[plan.peakStep] || 'start'}). Across: steps of the program; upwards: places in the arena. The line is what is live.`));
  if (arena.length) {
    const drawn = [...arena].sort((a, b) => b[0][3] - a[0][3]).slice(0, 4000).sort((a, b) => a[0][4] - b[0][4]);
    const live = new Array(steps + 2).fill(0);
    for (const [b] of arena) { live[b[4]] += b[3]; live[b[5] + 1] -= b[3]; }
    let sum = 0, line = '';
    for (let i = 0; i < steps; ++i) { sum += live[i]; line += `${i ? 'L' : 'M'}${i} ${plan.arena - sum}L${i + 1} ${plan.arena - sum}`; }
    const shape = ([b, i]) => {
      const rect = s('rect', {x: b[4], y: plan.arena - b[2] - b[3], width: Math.max(b[5] - b[4] + 1, .2), height: b[3], fill: `hsl(${i * 47 % 360} 55% 55% / ${b[6] ? .45 : .85})`,
        tabindex: drawn.length <= 400 ? 0 : -1, role: 'img', 'aria-label': describeBuffer(i)}, s('title', {}, describeBuffer(i)));
      for (const kind of ['pointerenter', 'focus', 'click']) rect.addEventListener(kind, () => { note.textContent = describeBuffer(i); });
      return rect;
    };
    here.append(s('svg', {class: 'timeline', viewBox: `0 0 ${steps} ${plan.arena}`, preserveAspectRatio: 'none', role: 'group', 'aria-label': 'Memory over time'}, ...drawn.map(shape),
      s('line', {class: 'peak', x1: plan.peakStep + .5, x2: plan.peakStep + .5, y1: 0, y2: plan.arena}), s('path', {class: 'live', d: line})),
      h('p', {class: 'soft'}, `0 … ${steps - 1} steps; 0 … ${bytes(plan.arena)}${drawn.length < arena.length ? `; the largest ${drawn.length} of ${arena.length} buffers are drawn` : ''}`), note);
  } else here.append(h('p', {}, 'The program needs no temporaries.'));
  const largest = plan.buffers.map((b, i) => [b, i]).sort((a, b) => b[0][3] - a[0][3]).slice(0, 200);
  here.append(h('details', {}, h('summary', {}, `Buffers (${plan.buffers.length}), largest first`), table(['bytes', 'size', 'live from', 'to', 'place', 'values'],
    largest.map(([b]) => [b[3], bytes(b[3]), b[4], b[5], place(b[0], b[1], b[2]), short(b[7].join(', '), 200)]), (i) => i < 4)));
  if (plan.copies.length) here.append(h('details', {}, h('summary', {}, `Copies (${plan.copies.length})`), table(['before step', 'bytes', 'from', 'to'], plan.copies.slice(0, 500).map(([step, from, to, n]) => [step, n, describeBuffer(from), describeBuffer(to)]), (i) => i < 2)));
  if (plan.rotations.length) here.append(h('details', {}, h('summary', {}, `Memory that a loop's rounds pass on (${plan.rotations.length})`), table(['loop', 'bytes', 'each has that of the one before, the first that of the last', 'by way of'], plan.rotations.map(([step, state, spare]) => [plan.steps[step], plan.buffers[spare][3], state.map(describeBuffer).join(', '), describeBuffer(spare)]), (i) => i === 1)));
}

// ---- Kernels.
const functions = new Map(data.code.functions || []), blocks = new Map();
function kernels() {
  const here = $('kernel-list');
  if (data.code.error) here.append(h('p', {}, data.code.error));
  const lazily = (title, text, block) => {  // with what it calls
    const inner = h('details', {}, h('summary', {}, title));
    inner.addEventListener('toggle', () => {
      if (!inner.open || inner.childElementCount > 1) return;
      inner.append(h('pre', {}, text));
      for (const callee of new Set([...text.matchAll(/\bcallq?\s+"?([^\s"@]+)/g)].map((m) => m[1]))) {
        if (functions.has(callee) && callee !== 'kiln_program') lazily(`calls ${callee}`, functions.get(callee), inner);
      }
    });
    block.append(inner);
  };
  for (const operation of operations) {
    const where = operation.functions.length ? [...new Set(operation.functions)] : ['kiln_program'], node = programs.after.byName.get(operation.name);
    const block = h('details', {class: 'kernel'}, h('summary', {}, h('b', {}, operation.name), ` ${operation.kind}`, h('span', {class: 'soft'},
      `${operation.flops ? `, ${amount(operation.flops)} operations` : ''}, ${bytes(operation.bytes)} moved${operation.nanoseconds ? `, estimated ${time(operation.nanoseconds * 1e-9)} on one thread` : ''}${node ? `, ${short(node.shape, 60)}` : ''}`)));
    block.addEventListener('toggle', () => {
      if (!block.open || block.childElementCount > 1) return;
      if (node) block.append(h('p', {}, h('button', {type: 'button', onclick: () => { program === programs.after || ($('which').value = 'after', $('which').dispatchEvent(new Event('change'))); location.hash = 'graph'; reveal(node); }}, 'Show in the graph')), h('pre', {}, node.text));
      if (operation.schedule) block.append(h('h3', {}, 'kernel and schedule'), h('pre', {}, operation.schedule));
      for (const name of where) lazily(operation.functions.length ? `assembly of ${name}` : 'it stands inline in the program: assembly of all of kiln_program', functions.get(name) || 'not in the assembly', block);
    });
    blocks.set(operation.name, block);
    here.append(block);
  }
  lazily('assembly of the program itself (calls, loops, small kernels)', functions.get('kiln_program') || '', here);
  lazily('constants and the rest of the assembly', functions.get('') || '', here);
  $('kernel-filter').addEventListener('input', (event) => {
    const text = event.target.value.toLowerCase();
    for (const operation of operations) blocks.get(operation.name).hidden = !`${operation.name} ${operation.kind} ${operation.schedule}`.toLowerCase().includes(text);
  });
}
function showKernel(name) {
  const block = blocks.get(name);
  block.hidden = false;
  block.open = true;
  block.scrollIntoView();
  block.querySelector('summary').focus();
}

summary();
memory();
kernels();
graph();
compare();
})();
