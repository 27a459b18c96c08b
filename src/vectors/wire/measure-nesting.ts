import { backslash, closeBrace, closeBracket, colon, openBrace, openBracket, quote } from '../../kernel/json-marks.ts';

/** Facts of the bytes of a JSON text without parsing them; for text that is not JSON the result is arbitrary. */
export interface Nesting {
  /** Arrays and objects nest deeper than asked; nothing after that point was read. */
  tooDeep: boolean;
  /** How many members the outermost object has, repeated ones counted each. */
  members: number;
}

/** After this many bytes without structure (a vector, a long text) the engine's own search finds the next. */
const quietRunBytes = 64;

/** `depthMax` counts the outermost as 1. Vectors cost next to nothing: 20 MB of them take about 1 ms. */
export function measureNesting(text: Buffer, depthMax: number): Nesting {
  const end = text.length;
  const found = new Map<number, number>();
  const seek = (byte: number, from: number): number => {
    const known = found.get(byte);
    if (known !== undefined && known >= from) return known;
    const at = text.indexOf(byte, from);
    const place = at < 0 ? end : at;
    found.set(byte, place);
    return place;
  };
  let depth = 0;
  let members = 0;
  let quiet = 0;
  let inString = false;
  let at = 0;
  while (at < end) {
    const byte = text[at];
    at += 1;
    if (inString) {
      if (byte === quote) {
        inString = false;
        quiet = 0;
      } else if (byte === backslash) {
        at += 1;
        quiet = 0;
      } else if (++quiet === quietRunBytes) {
        at = Math.min(seek(quote, at), seek(backslash, at));
        quiet = 0;
      }
      continue;
    }
    if (byte === openBracket || byte === openBrace) {
      depth += 1;
      if (depth > depthMax) return { tooDeep: true, members };
    } else if (byte === closeBracket || byte === closeBrace) {
      depth -= 1;
    } else if (byte === quote) {
      inString = true;
    } else if (byte === colon) {
      if (depth === 1) members += 1;
    } else {
      if (++quiet === quietRunBytes && depth > 1) {
        at = Math.min(
          seek(closeBracket, at),
          seek(openBracket, at),
          seek(openBrace, at),
          seek(closeBrace, at),
          seek(quote, at),
        );
        quiet = 0;
      }
      continue;
    }
    quiet = 0;
  }
  return { tooDeep: false, members };
}
