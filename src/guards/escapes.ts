/* Characters of ASCII that are escaped as in URLs (`%40`), HTML (`&#64;`, `&commat;`), JSON or JavaScript (`\\u0040`), up to four times. */

/** An escape of one character. */
export interface Escape {
  at: number;
  length: number;
  plain: string;
}

/** Names of HTML for signs that addresses, numbers and keys have. */
const named: Readonly<Record<string, string>> = {
  commat: '@',
  period: '.',
  lowbar: '_',
  plus: '+',
  colon: ':',
  num: '#',
  sol: '/',
  equals: '=',
  lpar: '(',
  rpar: ')',
  nbsp: ' ',
  amp: '&',
};

const escaped = new RegExp(
  [
    '%(?:25){0,3}[2-7][0-9a-fA-F]',
    '&(?:amp;){0,3}#(?:0{0,6}\\d{2,3}(?:;|(?!\\d))|[xX]0{0,6}[2-7][0-9a-fA-F](?:;|(?![0-9a-fA-F])))',
    `&(?:amp;){0,3}(?:${Object.keys(named).join('|')});`,
    '\\\\{1,4}(?:u00|x)[2-7][0-9a-fA-F]',
    '\\\\{1,4}u\\{0{0,4}[2-7][0-9a-fA-F]\\}',
  ].join('|'),
  'g',
);
/** The beginning of one at the end of a text. */
const begun =
  /(?:%(?:25){0,3}[2-7]?|&(?:amp;){0,3}(?:[a-z]{0,6}|#[0-9a-fA-FxX]{0,9})|\\{1,4}(?:u(?:\{?0{0,4}[2-7]?)?|x[2-7]?)?|\\{1,4}u\{0{0,4}[2-7][0-9a-fA-F])$/;
const longest = 24;

/** A quick look: escapes may be in the text, or begin at its end. */
export function hasEscapes(text: string): boolean {
  if (!text.includes('%') && !text.includes('&') && !text.includes('\\')) return false;
  return text.search(escaped) !== -1 || openEscape(text) < text.length;
}

/** Escapes in their order. */
export function* escapesIn(text: string): Generator<Escape> {
  for (const { 0: written, index } of text.matchAll(escaped)) {
    const plain = plainOf(written);
    if (plain !== null) yield { at: index, length: written.length, plain };
  }
}

/** Where an escape begins that more text could make; the text's length: none does. */
export function openEscape(text: string): number {
  const tail = text.slice(-longest);
  const found = begun.exec(tail);
  return found === null ? text.length : text.length - tail.length + found.index;
}

/** Null: it is none of printable ASCII. */
function plainOf(written: string): string | null {
  const word = named[/(\w+);$/.exec(written)?.[1] ?? ''];
  if (word !== undefined && written[0] === '&') return word;
  const decimal = /^&.*#(\d+);?$/.exec(written)?.[1];
  const code =
    decimal !== undefined ? Number(decimal) : Number.parseInt(/([2-7][0-9a-fA-F])[;}]?$/.exec(written)?.[1] ?? '', 16);
  return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : null;
}
