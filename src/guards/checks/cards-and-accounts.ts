import { digitsOf, passesLuhn, remainder } from './digits.ts';

/** Issuers' prefixes with the lengths of their numbers. */
const cards: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 19]],
  [/^35(?:2[89]|[3-8])/, [16, 19]],
  [/^(?:30[0-5]|36|38)/, [14]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:5018|5020|5038|5893|6304|6759|676[1-3])/, [12, 13, 14, 15, 16, 17, 18, 19]],
];
const cardForm = /[2-6]\d{2}(?:[ -]?\d){9,16}/y;

/** The end of the card number that begins there, whatever digits follow it after a space; -1: none does. */
export function cardEnd(text: string, start: number): number {
  cardForm.lastIndex = start;
  const matched = cardForm.exec(text)?.[0];
  if (matched === undefined) return -1;
  const lengths = cards.find(([prefix]) => prefix.test(digitsOf(matched)))?.[1];
  if (lengths === undefined) return -1;
  for (let end = matched.length; end >= 12; end--) {
    const next = text[start + end];
    if (/\D$/.test(matched.slice(0, end)) || (next !== undefined && /\w/.test(next))) continue;
    const digits = digitsOf(matched.slice(0, end));
    if (lengths.includes(digits.length) && passesLuhn(digits)) return start + end;
  }
  return -1;
}

/** Lengths by country, of the registry of SWIFT (ISO 13616). */
const ibanLengths = new Map(
  (
    'NO15 BE16 DK18 FI18 FO18 GL18 NL18 SD18 FK18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 XK20 MN20 CR22 HR21 LI21 LV21 CH21 ' +
    'BG22 BH22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 TL23 OM23 SO23 AD24 CZ24 ES24 MD24 PK24 RO24 SA24 SE24 SK24 ' +
    'TN24 VG24 LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27 AL28 AZ28 BY28 CY28 DO28 GT28 HU28 LB28 NI28 PL28 ' +
    'SV28 BR29 EG29 PS29 QA29 UA29 JO30 KW30 MU30 YE30 MT31 SC31 LC32 RU33'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);
/** In small letters, parts of words may be near: only one without spaces has letters behind its country. */
const ibanForm = /[A-Z]{2}\d{2}(?:[ -]?[A-Z\d]){11,30}|[a-z]{2}\d{2}(?:[a-z\d]{11,30}|(?:[ -]?\d){11,30})/y;

/** The end of the IBAN that begins there, its two check digits right (mod 97); -1: none does. */
export function ibanEnd(text: string, start: number): number {
  const length = ibanLengths.get(text.slice(start, start + 2).toUpperCase());
  if (length === undefined) return -1;
  ibanForm.lastIndex = start;
  const matched = ibanForm.exec(text)?.[0];
  if (matched === undefined) return -1;
  let end = 0;
  for (let seen = 0; seen < length; end++) {
    if (end >= matched.length) return -1;
    if (/\w/.test(matched.charAt(end))) seen++;
  }
  const next = text[start + end];
  if (next !== undefined && /\w/.test(next)) return -1;
  const iban = matched.slice(0, end).replace(/\W/g, '').toUpperCase();
  const moved = iban.slice(4) + iban.slice(0, 4);
  const digits = moved.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return remainder(digits, 97) === 1 ? start + end : -1;
}
