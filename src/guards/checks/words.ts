import type { Check, Rule } from '../check.ts';

const word = /[\p{L}\p{N}\p{M}_]+/gu;
/** Scripts that put no spaces between words: there a word is found within others. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Characters between the words of a phrase. */
const gapChars = 3;

/** By way of upper case, in which ß is SS. */
const normal = (text: string) => text.normalize('NFKC').toUpperCase().toLowerCase();

interface Phrase {
  words: readonly string[];
}

/** Rules for words and phrases, in whatever case and Unicode form. They are whole words where their script has them. */
export function words(list: readonly string[]): Check {
  const phrases = new Map<string, Phrase[]>();
  const within: string[] = [];
  const signed: string[] = [];
  let longest = 0;
  for (const entry of list) {
    if (unspaced.test(entry)) {
      within.push(entry.trim());
      longest = Math.max(longest, entry.length + 1);
      continue;
    }
    // matchAll begins where the last search of the shared expression ended.
    const parts = [...entry.matchAll(new RegExp(word))].map(([part]) => normal(part));
    const [first] = parts;
    const written = entry.trim();
    if (first === undefined || (parts.length === 1 && /^\.|[+#]$/.test(written))) {
      if (written !== '') signed.push(written);
      longest = Math.max(longest, 3 * written.length + 1);
      continue;
    }
    phrases.set(first, [...(phrases.get(first) ?? []), { words: parts }]);
    // A composed character has up to three parts in another form.
    longest = Math.max(longest, 3 * parts.join('').length + parts.length * gapChars + 1);
  }
  const firsts = new Set([...phrases.keys()].map((first) => first.charCodeAt(0)));
  const start = (text: string, from: number) => Math.max(from, text.length - longest);
  return [
    {
      longest,
      next: (text, from) => nextPhrase(phrases, firsts, text, from),
      open(text, from) {
        let open = start(text, from);
        // Within a word, where no phrase begins.
        while (open < text.length && open > from && isWord(text, open) && isWord(text, open - 1)) open++;
        return open;
      },
    },
    ...(within.length === 0
      ? []
      : [{ longest, next: (text: string, from: number) => nextWithin(within, text, from), open: start }]),
    ...(signed.length === 0 ? [] : [{ longest, next: signedWords(signed), open: start }]),
  ];
}

const isWord = (text: string, at: number) => /[\p{L}\p{N}\p{M}_]/u.test(text.charAt(at));

/** Entries of signs alone, and words such as `C++` and `.NET`, which are others without their signs. */
function signedWords(list: readonly string[]): Rule['next'] {
  const edge = '[\\p{L}\\p{N}\\p{M}_]';
  const forms = list
    .toSorted((one, other) => other.length - one.length)
    .map((one) => {
      const form = one.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
      return `${isWord(one, 0) ? `(?<!${edge})` : ''}${form}${isWord(one, one.length - 1) ? `(?!${edge})` : ''}`;
    });
  const form = new RegExp(forms.join('|'), 'giu');
  return (text, from) => {
    form.lastIndex = from;
    const found = form.exec(text);
    return found === null ? null : { kind: 'word', start: found.index, end: found.index + found[0].length };
  };
}

function nextPhrase(
  phrases: ReadonlyMap<string, readonly Phrase[]>,
  firsts: ReadonlySet<number>,
  text: string,
  from: number,
) {
  let wasWord = from > 0 && isWord(text, from - 1);
  for (let start = from; start < text.length; start++) {
    const code = text.charCodeAt(start);
    const is = isWordCode(code) ?? isWord(text, start);
    const isBeginning = is && !wasWord;
    wasWord = is;
    // Of other scripts, a character may become another one.
    if (!isBeginning || (code < 128 && !firsts.has(code) && !firsts.has(code | 0x20))) continue;
    const found = phraseAt(phrases, text, start);
    if (found !== null) return found;
  }
  return null;
}

/** Whether a code of ASCII is part of a word; null: another character. */
function isWordCode(code: number): boolean | null {
  if (code >= 128) return null;
  const letter = code | 0x20;
  return (letter >= 97 && letter <= 122) || (code >= 48 && code <= 57) || code === 95;
}

function phraseAt(phrases: ReadonlyMap<string, readonly Phrase[]>, text: string, start: number) {
  word.lastIndex = start;
  const found = word.exec(text);
  const begun = found?.index === start ? phrases.get(normal(found[0])) : undefined;
  if (found === null || begun === undefined) return null;
  const after = start + found[0].length;
  const end = Math.max(...begun.map(({ words: [, ...rest] }) => phraseEnd(text, after, rest)));
  return end === -1 ? null : { kind: 'word', start, end };
}

function phraseEnd(text: string, after: number, rest: readonly string[]): number {
  let end = after;
  for (const expected of rest) {
    word.lastIndex = 0;
    const found = word.exec(text.slice(end, end + gapChars + 3 * expected.length + 1));
    if (found === null || found.index > gapChars || normal(found[0]) !== expected) return -1;
    end += found.index + found[0].length;
  }
  return end;
}

function nextWithin(list: readonly string[], text: string, from: number) {
  let first: { kind: string; start: number; end: number } | null = null;
  for (const one of list) {
    const start = text.indexOf(one, from);
    if (start === -1 || (first !== null && first.start < start)) continue;
    if (first === null || start < first.start || start + one.length > first.end) {
      first = { kind: 'word', start, end: start + one.length };
    }
  }
  return first;
}
