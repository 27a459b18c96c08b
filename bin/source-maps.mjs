// Stacks that name the sources' files and lines, which the bundle has not. Plain JavaScript for Node 18+, as culvert.mjs.
import { readFileSync } from 'node:fs';

/** Places in the sources that stacks have shown, by file of the bundle and `line:column` there. */
const places = new Map();

/**
 * To be called once in each thread. Node's own `setSourceMapsSupport` reads the map of each file that is loaded: 12 MB and 16 ms
 * of a start, for stacks that a process may never show. The first stack then takes 94 ms of the loop, and 33 MB for ever.
 * Here the first stack of a file reads as much of its map as it needs (15 ms), and keeps what it found.
 */
export function nameSourcesInStacks() {
  // As V8 writes a stack, but for the places.
  Error.prepareStackTrace = (error, frames) => {
    const files = Map.groupBy(frames, (frame) => frame.getFileName() ?? '');
    for (const [file, ofFile] of files) if (file.startsWith('file:')) findPlaces(file, ofFile.map(spotOf));
    return [headOf(error), ...frames.map((frame) => `    at ${inSource(frame)}`)].join('\n');
  };
}

function headOf(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return '<error>';
  }
}

const spotOf = (frame) => `${frame.getLineNumber()}:${frame.getColumnNumber()}`;

function inSource(frame) {
  const place = places.get(frame.getFileName())?.get(spotOf(frame));
  return place === undefined
    ? String(frame)
    : String(frame).replace(`${frame.getFileName()}:${spotOf(frame)}`, () => place);
}

/** Looks for the places of `spots` (`line:column`, both from 1) that are not known yet. */
function findPlaces(file, spots) {
  if (!places.has(file)) places.set(file, new Map());
  const known = places.get(file);
  const unknown = spots.filter((spot) => !known.has(spot));
  if (unknown.length === 0) return;
  // Those of packages have no place in our sources. Nor are they looked for again.
  for (const spot of unknown) known.set(spot, undefined);
  try {
    const { sources, mappings } = JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8'));
    for (const [spot, { source, line, column }] of readMappings(mappings, unknown))
      known.set(spot, `${new URL(sources[source], file)}:${line + 1}:${column + 1}`);
  } catch {
    // A file without a map: its stacks stay as they are.
  }
}

const digits = new Uint8Array(128);
for (const [digit, letter] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  digits[letter.charCodeAt(0)] = digit;

/**
 * Original places of spots, by the `mappings` of a source map (ECMA-426): lines end with `;` and segments with `,`. A segment is
 * four numbers in base 64 with a bit for more and one for the sign, each less what it was before.
 */
function readMappings(mappings, spots) {
  const wanted = spots
    .map((spot) => spot.split(':').map(Number))
    .map(([line, column], at) => ({ line, column, spot: spots[at] }));
  const last = Math.max(...wanted.map((spot) => spot.line));
  const found = new Map();
  const [source, line, column] = [1, 2, 3];
  const at = [0, 0, 0, 0];
  for (const [index, segments] of mappings.split(';', last).entries()) {
    const here = wanted.filter((spot) => spot.line === index + 1);
    at[0] = 0;
    for (const segment of segments === '' ? [] : segments.split(',')) {
      addNumbers(at, segment);
      for (const spot of here)
        if (at[0] < spot.column) found.set(spot.spot, { source: at[source], line: at[line], column: at[column] });
    }
  }
  return found;
}

function addNumbers(to, segment) {
  let [field, bits, shift] = [0, 0, 0];
  for (let index = 0; index < segment.length; index += 1) {
    const digit = digits[segment.charCodeAt(index)];
    bits += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    if (field < to.length) to[field] += bits & 1 ? -(bits >> 1) : bits >> 1;
    field += 1;
    bits = 0;
    shift = 0;
  }
}
