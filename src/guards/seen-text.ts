import { type Escape, escapesIn, hasEscapes, openEscape } from './escapes.ts';

/**
 * A text as people read it: without the characters that nobody sees, and with digits, letters and signs of other forms
 * as those of ASCII, also letters of other scripts that look like them within a word of ASCII, and those that are escaped
 * as in URLs, HTML or JSON. What is hidden among such characters is in it plainly. Places: UTF-16 units.
 */
export interface SeenText {
  text: string;
  /** Place of the first character that begins at `written` or later in the written text. */
  placeOf(written: number): number;
  /** Where the character at a place begins in the written text; its end has the end of that text. */
  beginning(place: number): number;
  /** Where the character before a place ends in the written text. */
  ending(place: number): number;
  /** Place in the written text from which more text could change what it looks like; its length: none could. */
  unsure: number;
  /** The same with its escapes as they are written; null: as all of it is. Absent: it has none. */
  escaped?: SeenText | null;
}

/** Controls but for white space, other digits, mathematical letters, full-width forms but for the marks of Chinese prose. */
const odd =
  /[\p{DI}[\p{Cc}--[\t-\r\x85]][\p{Nd}--[0-9]]\ufff9-\ufffb\u2102\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212a\u212c-\u2131\u2133\u2134\u2139\u2145-\u2149\uff02-\uff07\uff0a\uff0b\uff0d-\uff19\uff1c-\uff1e\uff20-\uff5e\u{1d400}-\u{1d7ff}]/gv;
const invisible = /[\p{DI}\p{Cc}\ufff9-\ufffb]/v;
/** A quick look for what most texts are made of alone. */
const beyondLatin = /[^\t-\r -~\x85\xa0-\xac\xae-\xff]/;
/** By unit of UTF-16, whether an odd character may begin with it. */
const mayBeOdd = new Uint8Array(0x1_0000).map((_, unit) =>
  Number(new RegExp(odd, 'v').test(String.fromCharCode(unit))),
);
for (const unit of [0xd82f, 0xd834, 0xd835, 0xdb40, 0xdb41, 0xdb42, 0xdb43]) mayBeOdd[unit] = 1;

/** Letters of Cyrillic, Greek, Armenian and others, each before the one of ASCII that it looks like. */
const alike = new Map(
  (
    'аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwӏlАAВBЕEКKМMНHОOРPСCТTУYХXІIЈJЅSԚQԜW' +
    'οoνvκkρpυuιiαaΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXօoսuհhıiɡg'
  )
    .match(/../gu)
    ?.map((pair) => [pair.charCodeAt(0), pair.charAt(1)]),
);
const [isOdd, isAlike] = [1, 2];
for (const unit of alike.keys()) mayBeOdd[unit] = isAlike;
/** A letter that looks like one of ASCII is taken for it where one of ASCII is as near as this in its word. */
const nearUnits = 8;
/** Units of a word at the end of a text that may change with what follows. */
const unsureUnits = 64;

function isAscii(unit: number): boolean {
  return (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122);
}

/** `end`: nothing is near so far, and the word goes up to the end of the text. */
function nearAscii(text: string, at: number): boolean | 'end' {
  for (const step of [-1, 1]) {
    for (let place = at + step; Math.abs(place - at) <= nearUnits; place += step) {
      const unit = text.charCodeAt(place);
      if (isAscii(unit)) return true;
      if (place === text.length) return 'end';
      if (mayBeOdd[unit] !== isAlike) break;
    }
  }
  return false;
}

/** The text with letters of ASCII for those that look like them, in words that have both. */
function withoutAlike(text: string, first: number): { text: string; unsure: number } {
  let made = '';
  let from = 0;
  let unsure = text.length;
  for (let at = first; at < text.length; at++) {
    if (mayBeOdd[text.charCodeAt(at)] !== isAlike) continue;
    const near = nearAscii(text, at);
    if (near === 'end') unsure = Math.min(unsure, at);
    if (near !== true) continue;
    made += text.slice(from, at) + alike.get(text.charCodeAt(at));
    from = at + 1;
  }
  const isWord = (unit: number) => isAscii(unit) || mayBeOdd[unit] === isAlike;
  const least = text.length - unsureUnits;
  while (unsure < text.length && unsure > least && isWord(text.charCodeAt(unsure - 1))) unsure--;
  return { text: from === 0 ? text : made + text.slice(from), unsure };
}

/** The text as it is read; null: as it is written. */
export function seenText(given: string): SeenText | null {
  const first = firstOdd(given);
  if (!hasEscapes(given)) return first === -1 ? null : readText(given, first, false);
  const seen = readText(given, first === -1 ? given.length : first, true);
  return seen === null ? null : { ...seen, escaped: first === -1 ? null : readText(given, first, false) };
}

/** `first`: the first odd character of it; its length: none. */
function readText(given: string, first: number, isUnescaped: boolean): SeenText | null {
  const { text: written, unsure: unsureLetters } = withoutAlike(given, first);
  const unsure = isUnescaped ? Math.min(unsureLetters, openEscape(written)) : unsureLetters;
  const begins: number[] = [];
  /** Ends of escapes, by their place. */
  const ends = new Map<number, number>();
  let text = '';
  const take = (piece: string, at: number) => {
    text += piece;
    for (let unit = 0; unit < piece.length; unit++) begins.push(at + unit);
  };
  let from = 0;
  for (const { at, length, plain: form } of isUnescaped ? mergedOdd(written, first) : oddIn(written, first)) {
    take(written.slice(from, at), from);
    take(form, at);
    from = at + length;
    if (form !== '' && length > 2) ends.set(text.length, from);
  }
  if (from === 0 && written === given && unsure === given.length) return null;
  take(written.slice(from), from);
  const beginning = (place: number) => begins[place] ?? written.length;
  return {
    text,
    unsure,
    placeOf: (at) => placeIn(begins, at),
    beginning,
    ending(place) {
      const end = ends.get(place);
      if (end !== undefined) return end;
      const at = beginning(place - 1);
      return at + ((written.codePointAt(at) ?? 0) > 0xffff && text.charCodeAt(place - 1) < 0x80 ? 2 : 1);
    },
  };
}

/** Characters that are written otherwise than they are read: as `plain`; '': as nothing. */
type Odd = Escape;

function* oddIn(written: string, first: number): Generator<Odd> {
  odd.lastIndex = first;
  for (let found = odd.exec(written); found !== null; found = odd.exec(written)) {
    const { lastIndex } = odd;
    const [char] = found;
    yield { at: found.index, length: char.length, plain: invisible.test(char) ? '' : plain(char) };
    odd.lastIndex = lastIndex;
  }
}

/** With escapes, in their order. */
function* mergedOdd(written: string, first: number): Generator<Odd> {
  const others = oddIn(written, first);
  let next = others.next();
  for (const one of escapesIn(written)) {
    for (; next.done !== true && next.value.at < one.at; next = others.next()) yield next.value;
    yield one;
  }
  if (next.done !== true) yield next.value;
  yield* others;
}

/** Invisible characters in a row that a guard holds, and lets pass: more of them are no text. */
const runMax = 32;
const longRun = new RegExp(`(\\p{DI}{${runMax}})(\\p{DI}+)`, 'gu');

/** The text with at most `runMax` invisible characters in a row. `cut` gets each place in it and the units left out there. */
export function squeezed(text: string, cut: (at: number, units: number) => void): string {
  if (firstOdd(text) === -1) return text;
  let removed = 0;
  return text.replace(longRun, (run: string, start: string, rest: string, at: number) => {
    cut(at - removed + start.length, rest.length);
    removed += run.length - start.length;
    return start;
  });
}

function firstOdd(text: string): number {
  const first = text.search(beyondLatin);
  if (first === -1) return -1;
  for (let at = first; at < text.length; at++) {
    const kind = mayBeOdd[text.charCodeAt(at)];
    if (kind === isOdd || (kind === isAlike && nearAscii(text, at) !== false)) return at;
  }
  return -1;
}

/** By character; Unicode has some two thousand of them. */
const plainForms = new Map<string, string>();

/** The character of ASCII that an odd one is a form of, or itself. */
function plain(char: string): string {
  let form = plainForms.get(char);
  if (form === undefined) {
    form = char.normalize('NFKC');
    if (/^\p{Nd}$/u.test(form)) form = String(digit(form));
    if (!/^[!-~]$/.test(form)) form = char;
    plainForms.set(char, form);
  }
  return form;
}

/** The digits of a script follow each other, from 0 on. */
function digit(char: string): number {
  const code = char.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++;
  return value;
}

function placeIn(begins: readonly number[], at: number): number {
  let [low, high] = [0, begins.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((begins[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
