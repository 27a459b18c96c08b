/* Base64 within a text, of both alphabets, in one line or in lines of equal length as mail and PEM have them. */

/** A piece of base64 in a text. Long ones are several pieces, each with the beginning of the next one. */
export interface EncodedPiece {
  start: number;
  end: number;
  /** End of what was decoded. */
  ahead: number;
  /** The texts that it holds, from whichever of its characters they begin, each on a line; '': none. */
  text: string;
  /** It is too long to be a name or a hash, and holds no text: a picture, a sound, a compressed file. */
  isBytes: boolean;
}

/** Shorter ones hold nothing that anybody looks for. */
const leastChars = 10;
/** Longer ones of small letters alone are no words. */
const wordChars = 24;
/** A piece ends here, or at the end of this line. */
const pieceChars = 1_024;
/** Characters of the next piece that are decoded with one, so that a value between them is found. */
const aheadChars = 256;
/** Lines that are as long go on in the next one. */
const lineChars = 60;
/** Characters of the longest piece, with what is decoded with it. */
export const encodedChars = 2 * pieceChars;
/** Bytes of a piece without a text; keys, signatures and hashes have fewer. */
const bytesLeastChars = 1_024;
/** … and in a data URL, which says that it is a file. */
const dataLeastChars = 64;
/** Bytes have more kinds of characters; lines, numbers and hexadecimal digits have not. */
const kindsLeast = 24;

/** Six bits by unit of UTF-16; -1: no character of base64. */
const sextets = new Int8Array(0x1_0000).fill(-1);
for (const [at, char] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries()) {
  sextets[char.charCodeAt(0)] = at;
}
sextets['-'.charCodeAt(0)] = 62;
sextets['_'.charCodeAt(0)] = 63;

const isIn = (text: string, at: number) => at < text.length && (sextets[text.charCodeAt(at)] ?? -1) >= 0;

/** The first piece that begins at `from` or later; null: none. */
export function encodedFrom(text: string, from: number): EncodedPiece | null {
  for (let start = from; start + leastChars <= text.length; ) {
    let at = start + leastChars - 1;
    while (at >= start && isIn(text, at)) at--;
    if (at >= start) {
      // None of the places up to here has characters enough behind it.
      start = at + 1;
      continue;
    }
    const { end, ahead } = endsOf(text, start);
    const piece = isWord(text, start, end) ? null : pieceOf(text, { start, end, ahead });
    if (piece !== null) return piece;
    start = end;
  }
  return null;
}

/**
 * The last place up to `most`, and at `from` or later, from which more text could make a piece or change one, or where
 * the piece begins that holds `most`; `most`: none.
 */
export function encodedOpen(text: string, from: number, most = text.length): number {
  let start = most;
  while (start > from && (isIn(text, start - 1) || text[start - 1] === '=')) start--;
  // Earlier lines of the same piece.
  for (;;) {
    const lineEnd = beforeBreak(text, start);
    let line = lineEnd;
    while (line > from && isIn(text, line - 1)) line--;
    if (lineEnd === start || lineEnd - line < lineChars) break;
    start = line;
  }
  // What is behind a whole piece is the next one.
  while (start < most) {
    const { end, ahead } = endsOf(text, start);
    const next = afterBreak(text, end);
    if (ahead + '\r\n'.length >= text.length || next > most) break;
    start = next;
  }
  return start;
}

function endsOf(text: string, start: number): { end: number; ahead: number } {
  const end = pieceEnd(text, start, pieceChars);
  return { end, ahead: end - start < pieceChars ? end : pieceEnd(text, afterBreak(text, end), aheadChars) };
}

/** Short base64 has capital letters or digits, and most words have not, but for the first one. */
function isWord(text: string, start: number, end: number): boolean {
  if (end - start > wordChars) return false;
  for (let at = start + 1; at < end; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x61 || unit > 0x7a) return false;
  }
  return true;
}

function afterBreak(text: string, at: number): number {
  if (text[at] === '\n') return at + 1;
  return text.startsWith('\r\n', at) ? at + 2 : at;
}

function beforeBreak(text: string, at: number): number {
  // The rest of the break may come.
  if (text[at - 1] === '\r' && at === text.length) return at - 1;
  if (text[at - 1] !== '\n') return at;
  return text[at - 2] === '\r' ? at - 2 : at - 1;
}

/** Where characters of base64 end that begin at `start`: at the latest behind `most`, or at the end of that line. */
function pieceEnd(text: string, start: number, most: number): number {
  let line = start;
  let at = start;
  for (;;) {
    while (isIn(text, at) && at - line < most) at++;
    if (at - line >= most || at - start >= most) return at;
    const next = afterBreak(text, at);
    if (next === at || at - line < lineChars || !isIn(text, next)) break;
    line = next;
    at = next;
  }
  while (text[at] === '=') at++;
  return at;
}

/** Null: it is a word, a name or a number. */
function pieceOf(text: string, place: Pick<EncodedPiece, 'start' | 'end' | 'ahead'>): EncodedPiece | null {
  const written = text.slice(place.start, place.ahead);
  const encoded = written.includes('\n') ? written.replace(/[\r\n]+/g, '') : written;
  const texts: string[] = [];
  let isText = false;
  for (let shift = 0; shift < 4; shift++) {
    if (!holdsText(encoded, shift)) continue;
    const decoded = Buffer.from(encoded.slice(shift), 'base64').toString('utf8');
    isText ||= (decoded.match(noText)?.length ?? 0) * 50 < decoded.length;
    texts.push(...(decoded.match(row) ?? []));
  }
  const isBytes = !isText && isLongAs(bytesOrData(text, place.start), encoded);
  return texts.length === 0 && !isBytes ? null : { ...place, text: texts.join('\n'), isBytes };
}

const dataUrl = /data:[^\s,"'<>]{0,200};base64,$/i;

/** Characters that bytes have at least. */
function bytesOrData(text: string, start: number): number {
  return text[start - 1] === ',' && dataUrl.test(text.slice(Math.max(0, start - 220), start))
    ? dataLeastChars
    : bytesLeastChars;
}

const isLongAs = (least: number, encoded: string) =>
  encoded.length >= least && new Set(encoded.slice(0, 512)).size >= kindsLeast;

/** Characters that a text does not have. */
const noText = /[[\p{Cc}--[\t\n\r]]\ufffd]/gv;
const rowChars = 6;
const row = /[\t\n\r\x20-\x7e\xa0-\ufffc]{6,}/g;

const sextet = (encoded: string, at: number) => sextets[encoded.charCodeAt(at)] ?? 0;

/** Whether some characters in a row are those of a text, in base64 that begins at a place: a look before decoding it. */
function holdsText(encoded: string, from: number): boolean {
  let inRow = 0;
  /** Bytes that a character of several lacks. */
  let lacks = 0;
  for (let at = from; at + 1 < encoded.length; at += 4) {
    const bits =
      (sextet(encoded, at) << 18) |
      (sextet(encoded, at + 1) << 12) |
      (sextet(encoded, at + 2) << 6) |
      sextet(encoded, at + 3);
    for (let shift = 16; shift >= 0; shift -= 8) {
      const byte = (bits >> shift) & 0xff;
      if (byte >= 0xc0) lacks = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      else if (byte >= 0x80) {
        if (lacks === 0) inRow = 0;
        else if (--lacks === 0) inRow++;
      } else {
        lacks = 0;
        inRow = (byte >= 0x20 && byte < 0x7f) || byte === 9 || byte === 10 || byte === 13 ? inRow + 1 : 0;
      }
      if (inRow >= rowChars) return true;
    }
  }
  return false;
}
