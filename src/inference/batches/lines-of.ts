import { setImmediate as nextTurn } from 'node:timers/promises';

/** Lines between two turns of the loop: over SQLite nothing else waits for one. */
const linesAtOnce = 128;
const newline = 0x0a;
const carriageReturn = 0x0d;

/** Lines of `content` that are not blank, without their ends. Null: one that is longer than `bytesMax`. */
export async function* linesOf(content: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer | null> {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isFirst = true;
  let passed = 0;

  function add(part: Buffer): void {
    bytes += part.length;
    if (bytes > bytesMax) parts = [];
    else if (part.length > 0) parts.push(part);
  }

  /** Undefined: it is blank. */
  function ended(): Buffer | null | undefined {
    const isTooLong = bytes > bytesMax;
    let whole = parts.length > 1 ? Buffer.concat(parts) : (parts[0] ?? Buffer.alloc(0));
    if (isFirst && whole.subarray(0, 3).equals(byteOrderMark)) whole = whole.subarray(3);
    if (whole.at(-1) === carriageReturn) whole = whole.subarray(0, -1);
    isFirst = false;
    parts = [];
    bytes = 0;
    if (isTooLong) return null;
    return isBlank(whole) ? undefined : whole;
  }

  for await (const chunk of content) {
    let from = 0;
    for (let to = chunk.indexOf(newline); to !== -1; to = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, to));
      from = to + 1;
      const line = ended();
      if (line !== undefined) yield line;
      if (++passed % linesAtOnce === 0) await nextTurn();
    }
    add(chunk.subarray(from));
  }
  if (bytes > 0) {
    const line = ended();
    if (line !== undefined) yield line;
  }
}

const byteOrderMark = Buffer.from('\u{feff}');

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === carriageReturn);
}
