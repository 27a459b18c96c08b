// Notes of which places of `src` each test file runs, for scripts/mutants.mjs: by V8's coverage, of all processes and threads
// that the file starts. They are in the temporary folder, and count until the test file or the source is another.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';

const folder = join(tmpdir(), 'culvert-run-notes');

/** `changes`: what may be changed, of each the file, its text, and where it is seen that it runs. */
export function openRunNotes(root, changes) {
  mkdirSync(folder, { recursive: true });
  const places = new Map();
  for (const { file, source, seenAt } of changes)
    remembered(places, file, () => ({ source, starts: [] })).starts.push(seenAt);
  const hashes = new Map();
  const notes = new Map();
  const versionOf = (file) => remembered(hashes, file, () => versionOfPlaces(places.get(file)));

  return { has: (test) => noteOf(test) !== null, add, runs };

  /** Whether a test file runs a place; null where no note says so. */
  function runs(test, file, start) {
    const note = noteOf(test);
    if (note === null) return null;
    const [version, bits] = note[file] ?? [];
    if (version === undefined) return false;
    if (version !== versionOf(file)) return null;
    const at = places.get(file).starts.indexOf(start);
    return (Buffer.from(bits, 'base64')[at >> 3] & (1 << (at & 7))) !== 0;
  }

  /** Writes a note for test files that ran in one process, from what NODE_V8_COVERAGE left in a folder. */
  function add(tests, coverage) {
    const bits = new Map();
    for (const dump of readdirSync(coverage)) for (const script of scriptsOf(join(coverage, dump))) mark(script, bits);
    const note = Object.fromEntries(
      [...bits].map(([file, marked]) => [file, [versionOf(file), Buffer.from(marked).toString('base64')]]),
    );
    for (const test of tests) writeFileSync(pathOf(test), gzipSync(JSON.stringify(note)));
  }

  function mark({ url, functions }, bits) {
    const base = `${pathToFileURL(root).href}/`;
    const file = url.startsWith(base) ? url.slice(base.length).replace(/[?#].*$/, '') : '';
    if (!places.has(file)) return;
    const { starts } = places.get(file);
    const marked = remembered(bits, file, () => new Uint8Array(Math.ceil(starts.length / 8)));
    const counts = countsAt(starts, functions);
    for (const [at, count] of counts.entries()) if (count > 0) marked[at >> 3] |= 1 << (at & 7);
  }

  function noteOf(test) {
    return remembered(notes, test, () => {
      try {
        return JSON.parse(gunzipSync(readFileSync(pathOf(test))));
      } catch {
        return null;
      }
    });
  }

  function pathOf(test) {
    const hash = createHash('sha256')
      .update(readFileSync(join(root, test)))
      .digest('hex');
    return join(folder, `${test.replaceAll('/', '+')}-${hash.slice(0, 16)}.json.gz`);
  }
}

/** How often each offset ran: as often as the innermost range around it. */
function countsAt(starts, functions) {
  const ranges = functions
    .flatMap((one) => one.ranges)
    .sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const counts = new Array(starts.length).fill(0);
  const around = [];
  let next = 0;
  for (const at of [...starts.keys()].sort((a, b) => starts[a] - starts[b])) {
    while (ranges[next]?.startOffset <= starts[at]) around.push(ranges[next++]);
    counts[at] = around.findLast(({ endOffset }) => endOffset > starts[at])?.count ?? 0;
    while (around.length > 0 && around.at(-1).endOffset <= starts[at]) around.pop();
  }
  return counts;
}

/** Scripts of a dump; none where its process was ended while it wrote. */
function scriptsOf(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).result;
  } catch {
    return [];
  }
}

function versionOfPlaces({ source, starts }) {
  return createHash('sha256').update(`${starts} ${source}`).digest('hex').slice(0, 16);
}

function remembered(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}
