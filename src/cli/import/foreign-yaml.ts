import { LineCounter, parseDocument } from 'yaml';
import type { Path } from './notes.ts';

/** The same bound as for our own configuration. */
const fileBytesMax = 4 * 1024 * 1024;
const aliasesMax = 1_000;

export interface ForeignYaml {
  value: unknown;
  /** The 1-based line of `path`, or of the nearest thing above it that is there. */
  lineOf(path: Path): number;
}

/** A YAML file of another program, as plain data. The message tells the problem, never the file's content. */
export function readForeignYaml(text: string): { ok: true; file: ForeignYaml } | { ok: false; message: string } {
  if (Buffer.byteLength(text) > fileBytesMax) return { ok: false, message: 'is larger than 4 MB' };
  const lines = new LineCounter();
  // `<<: *defaults` is common in such files. The last of a key's values counts, as in Python's readers.
  const options = {
    lineCounter: lines,
    prettyErrors: false,
    merge: true,
    uniqueKeys: false,
    logLevel: 'silent',
  } as const;
  let document: ReturnType<typeof parseDocument>;
  let value: unknown;
  try {
    document = parseDocument(text, options);
    const [broken] = document.errors;
    if (broken !== undefined) {
      const { line, col } = lines.linePos(broken.pos[0]);
      return { ok: false, message: `is not valid YAML at ${line}:${col} (${broken.code})` };
    }
    value = document.toJS({ maxAliasCount: aliasesMax });
  } catch {
    return { ok: false, message: 'is nested too deeply, or holds too many aliases' };
  }
  return { ok: true, file: { value, lineOf: (path) => lineOf(path, document, lines) } };
}

function lineOf(path: Path, document: ReturnType<typeof parseDocument>, lines: LineCounter): number {
  for (let length = path.length; length > 0; length--) {
    const offset = offsetOf(path.slice(0, length), document);
    if (offset !== null) return Math.max(1, lines.linePos(offset).line);
  }
  return 1;
}

/** Line of its key, if it has one: a value may begin a line later. */
function offsetOf(path: Path, document: ReturnType<typeof parseDocument>): number | null {
  const parent: unknown = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const last = path.at(-1);
  if (typeof parent !== 'object' || parent === null || !('items' in parent) || !Array.isArray(parent.items))
    return null;
  const item: unknown =
    typeof last === 'number'
      ? parent.items[last]
      : parent.items.find((pair: { key?: { value?: unknown } }) => pair.key?.value === last)?.key;
  const range = typeof item === 'object' && item !== null && 'range' in item ? item.range : null;
  return Array.isArray(range) ? (range[0] as number) : null;
}
