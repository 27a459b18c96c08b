import { isIPv6 } from 'node:net';
import type { Check, Finding, Rule } from '../check.ts';
import { type PersonalKind, personalKinds } from '../kinds.ts';
import { cardEnd, ibanEnd } from './cards-and-accounts.ts';
import { nationalIds } from './national-ids.ts';
import type { PhoneNumbers } from './phones.ts';

/**
 * Rules for personal data of these kinds. `countries`: where phone numbers count without a country code in every valid
 * form. Plans of phone numbers are loaded where phones are looked for.
 */
export async function personalData(
  kinds: readonly PersonalKind[] = personalKinds,
  countries: readonly string[] = [],
): Promise<Check> {
  const numbers = kinds.filter((kind) => kind !== 'email');
  const phones = kinds.includes('phone') ? (await import('./phones.ts')).phoneNumbers(countries) : null;
  return [
    ...(kinds.includes('email') ? [emails] : []),
    ...(numbers.length > 0 ? [numbersOf({ kinds: new Set(numbers), phones })] : []),
    ...(kinds.includes('ip') ? [longAddresses] : []),
  ];
}

/** Letters of Latin, Greek and Cyrillic. Other scripts have no spaces between an address and the words around it. */
const letters = 'a-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u024f\\u0370-\\u052f';
const alnum = `[${letters}\\d]`;
/** Pictures for screens of many pixels are files such as `icon@2x.png`. */
const email = new RegExp(
  `[${letters}\\d_](?:[${letters}\\d_%+'-]|\\.(?!\\.)){0,63}@(?!\\dx\\.)(?:${alnum}(?:[${letters}\\d-]{0,61}${alnum})?\\.){1,6}` +
    `(?:xn--[a-z\\d-]{1,59}|[${letters}]{2,24})(?!${alnum}|\\.${alnum})`,
  'iy',
);
const nameChar = new RegExp(`[${letters}\\d_]`, 'i');
const localPart = new RegExp(`[${letters}\\d_.%+'-]`, 'i');

const emails: Rule = {
  longest: 320,
  next(text, from) {
    for (let at = text.indexOf('@', from); at !== -1; at = text.indexOf('@', at + 1)) {
      const start = localStart(text, at, from);
      email.lastIndex = start;
      const matched = start === at ? undefined : email.exec(text)?.[0];
      if (matched !== undefined) return { kind: 'email', start, end: start + matched.length };
    }
    return null;
  },
  open: (text, from) => solidFrom(text, from, 320),
};

/** Where the name of an address begins that ends at `at`, without quotes, dashes and dots before it; `at`: there is none. */
function localStart(text: string, at: number, from: number): number {
  const isDots = (end: number) => text.charAt(end - 1) === '.' && text.charAt(end) === '.';
  let run = at;
  while (run > from && at - run < 64 && localPart.test(text.charAt(run - 1)) && !isDots(run)) run--;
  let start = run;
  while (start < at && !nameChar.test(text.charAt(start))) start++;
  // A longer word, or the rest of one.
  return start === run && localPart.test(text.charAt(run - 1)) ? at : start;
}

/** Where the last characters without a space begin, those that addresses and secrets are made of. */
export function solidFrom(text: string, from: number, longest: number): number {
  const least = Math.max(from, text.length - longest);
  let open = text.length;
  while (open > least) {
    const code = text.charCodeAt(open - 1);
    if (code <= 0x20 || (code >= 0x7f && !nameChar.test(text.charAt(open - 1)))) break;
    open--;
  }
  return open;
}

const numberChars = 64;
const digit = /\d/g;
const addressV4 = /(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)/y;

interface Numbers {
  kinds: ReadonlySet<PersonalKind>;
  /** Null: no phone numbers. */
  phones: PhoneNumbers | null;
}

/** Beginnings with digits, or a few characters before them: one look at each group of digits serves all kinds. */
function numbersOf(numbers: Numbers): Rule {
  const least = numbers.phones?.least ?? 9;
  return {
    longest: numberChars,
    next(text, from) {
      // A test makes no object of what it finds, of which a text has hundreds.
      digit.lastIndex = from;
      while (digit.test(text)) {
        let end = digit.lastIndex;
        const found = mayBegin(text, end - 1, least) ? numberNear(numbers, text, end - 1, from) : null;
        if (found !== null) return found;
        while (isDigit(text, end)) end++;
        digit.lastIndex = end;
      }
      return null;
    },
    open(text, from) {
      const least = Math.max(from, text.length - numberChars);
      let open = text.length;
      for (let at = open - 1; at >= least; at--) {
        if (/[A-Z\d+(]/.test(text.charAt(at))) open = at;
        else if (/[a-z]/.test(text.charAt(at))) {
          // Small letters are part of an id where their word has digits, or where some may follow it.
          let start = at;
          while (start > least && /[A-Za-z\d]/.test(text.charAt(start - 1))) start--;
          const mayFollow = at === text.length - 1 && at - start < 6;
          if (!mayFollow && !/\d/.test(text.slice(start, at + 2))) break;
          open = start;
          at = start;
        } else if (!/[ .\-/)]/.test(text.charAt(at)) && !typographic.test(text.charAt(at))) break;
      }
      return open;
    },
  };
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

/** Spaces and dashes of typography, one unit each. Pages and documents have them between the groups of a number. */
const typographic = /[\u00a0\u2000-\u200a\u202f\u205f\u3000\u2010-\u2013\u2212]/;
const dashes = /[\u2010-\u2013\u2212]/g;
const allTypographic = new RegExp(typographic, 'g');
/** Letters before the digits of an id that is written small: of a NIE, an IBAN or a codice fiscale. */
const smallLetters = /(?<![\w.])(?:[a-z]{1,2}|[a-z]{6})$/;

/** A quick look that most numbers of a text do not pass: what begins there has the digits, or dots, of some kind. */
function mayBegin(text: string, at: number, leastDigits: number): boolean {
  const before = text.charCodeAt(at - 1);
  const isUpper = (code: number) => code >= 65 && code <= 90;
  if (before >= 97 && before <= 122)
    return isDigit(text, at + 1) && smallLetters.test(text.slice(Math.max(0, at - 8), at));
  const isLed = before === 0x2b || before === 0x28 || isUpper(before);
  const least = isLed || (before === 0x2d && isUpper(text.charCodeAt(at - 2))) ? 2 : leastDigits;
  let digits = 0;
  let dots = 0;
  let group = 0;
  for (let place = at; place < text.length && place < at + numberChars; place++) {
    const code = text.charCodeAt(place);
    if (code >= 48 && code <= 57) {
      digits++;
      group++;
      if (digits >= least || group === 8) return true;
      continue;
    }
    group = 0;
    // A dot.
    if (code === 0x2e && ++dots === 3) return true;
    if (isUpper(code) || code === 0x20 || (code >= 0x28 && code <= 0x2f)) continue;
    if (code < 0xa0 || !typographic.test(text.charAt(place))) return false;
  }
  return false;
}

/** Nothing that a number could go on from is before it. */
function isFree(text: string, start: number): boolean {
  const before = text.charAt(start - 1);
  return before === '' || !/[\w.]/.test(before) || (before === '.' && !isDigit(text, start - 2));
}

/** The number at a place, with a plain space or hyphen for each one of typography around it. */
function numberNear(numbers: Numbers, text: string, at: number, from: number): Finding | null {
  const begin = Math.max(0, at - 16);
  const piece = text.slice(begin, at + numberChars + 16);
  if (!typographic.test(piece)) return numberAt(numbers, text, at, from);
  const plain = piece.replace(dashes, '-').replace(allTypographic, ' ');
  const found = numberAt(numbers, plain, at - begin, Math.max(0, from - begin));
  return found === null ? null : { ...found, start: found.start + begin, end: found.end + begin };
}

function numberAt({ kinds, phones }: Numbers, text: string, at: number, from: number): Finding | null {
  const found = (kind: PersonalKind, start: number, end: number) => ({ kind, start, end });
  if (kinds.has('iban') && at - 2 >= from && /[A-Za-z]/.test(text.charAt(at - 1)) && isFree(text, at - 2)) {
    const end = ibanEnd(text, at - 2);
    if (end !== -1) return found('iban', at - 2, end);
  }
  if (kinds.has('national-id')) {
    for (const { form, back, isValid } of nationalIds) {
      const start = at - (back === 2 && text[at - 1] !== '-' ? 1 : back);
      if (start < from || !isFree(text, start)) continue;
      form.lastIndex = start;
      const matched = form.exec(text)?.[0];
      if (matched !== undefined && isValid(matched.toUpperCase()))
        return found('national-id', start, start + matched.length);
    }
  }
  if (!isFree(text, at)) return null;
  if (kinds.has('card')) {
    const end = cardEnd(text, at);
    if (end !== -1) return found('card', at, end);
  }
  if (kinds.has('ip')) {
    addressV4.lastIndex = at;
    const matched = addressV4.exec(text)?.[0];
    if (matched !== undefined && isAddressOfSomebody(matched)) return found('ip', at, at + matched.length);
  }
  if (phones === null) return null;
  const isLed = at > from && /[+(]/.test(text.charAt(at - 1)) && isFree(text, at - 1);
  for (const start of isLed ? [at - 1, at] : [at]) {
    const end = phones.end(text, start);
    if (end !== -1) return found('phone', start, end);
  }
  return null;
}

/** Not one of the machine itself. */
function isAddressOfSomebody(address: string): boolean {
  const parts = address.split('.');
  return (
    parts.every((part) => Number(part) <= 255 && String(Number(part)) === part) && !/^(?:0|127|255)\./.test(address)
  );
}

/** The last part may be an address of version 4. */
const addressV6 = /(?<![\w:.])[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?:(?:\.\d{1,3}){3})?(?![\w:])/iy;

const longAddresses: Rule = {
  longest: 64,
  next(text, from) {
    for (let colon = text.indexOf(':', from); colon !== -1; colon = text.indexOf(':', colon + 1)) {
      let start = colon;
      while (start > from && colon - start < 4 && /[\da-f]/i.test(text.charAt(start - 1))) start--;
      addressV6.lastIndex = start;
      const matched = addressV6.exec(text)?.[0];
      // Three groups are a time of day; without a digit it is a name in code, such as `abc::def`.
      if (matched === undefined || matched.length < 6 || !/\d/.test(matched) || !isIPv6(matched)) continue;
      return { kind: 'ip', start, end: start + matched.length };
    }
    return null;
  },
  open: (text, from) => solidFrom(text, from, 64),
};
