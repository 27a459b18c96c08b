import { digitsOf, isDate, passesLuhn, remainder, weighted } from './digits.ts';

/** The form of a country's id, and whether its check digits are right, its letters large. `back`: characters before its first digit. */
export interface IdForm {
  form: RegExp;
  back: number;
  isValid(text: string): boolean;
}

const id = (form: RegExp, isValid: IdForm['isValid'], back = 0): IdForm => ({ form, back, isValid });
const ofDigits = (isValid: (digits: string) => boolean) => (text: string) => isValid(digitsOf(text));
const at = (digits: string, place: number) => digits.charCodeAt(place) - 48;
const isOneDigit = (digits: string) => /^(\d)\1+$/.test(digits);

/** Ids that have check digits, by country. They are anchored where they are looked for. */
export const nationalIds: readonly IdForm[] = [
  // Brazil: CPF.
  id(
    /\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?![\w-])/y,
    ofDigits((cpf) => !isOneDigit(cpf) && isMod11(cpf, 9) && isMod11(cpf, 10)),
  ),
  // China: resident identity card (GB 11643).
  id(/[1-9]\d{16}[\dXx](?!\w)/y, (text) => {
    const sum = weighted(text, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    return isDate(text.slice(10, 12), text.slice(12, 14)) && '10X98765432'[sum % 11] === text[17];
  }),
  // Spain: DNI, and NIE of foreigners.
  id(/\d{8}(?:[- ]?[A-HJ-NP-TV-Z]|-?[a-hj-np-tv-z])(?!\w)/y, (text) => spanishLetter(text.slice(0, 8)) === text.at(-1)),
  id(
    /[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z](?!\w)/iy,
    (text) => spanishLetter('XYZ'.indexOf(text.charAt(0)) + digitsOf(text)) === text.at(-1),
    2,
  ),
  // France: NIR. Corsica has letters.
  id(/[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}(?!\w)/y, (text) => {
    const nir = text.replaceAll(' ', '').replace('2A', '19').replace('2B', '18');
    const month = Number(nir.slice(3, 5));
    return (month <= 12 || month >= 20) && 97 - remainder(nir.slice(0, 13), 97) === Number(nir.slice(13));
  }),
  // Germany: Steuer-ID. One digit of the first ten comes twice or three times.
  id(
    /[1-9]\d ?\d{3} ?\d{3} ?\d{3}(?!\w)/y,
    ofDigits((tax) => {
      const kinds = new Set(tax.slice(0, 10)).size;
      if (kinds !== 9 && kinds !== 8) return false;
      let product = 10;
      for (let place = 0; place < 10; place++) product = (((at(tax, place) + product) % 10 || 10) * 2) % 11;
      return (11 - product) % 10 === at(tax, 10);
    }),
  ),
  // Italy: codice fiscale.
  id(/[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z](?!\w)/iy, isItalian, 6),
  // Poland: PESEL.
  id(/\d{11}(?!\w)/y, (pesel) => {
    const month = Number(pesel.slice(2, 4)) % 20;
    const sum = weighted(pesel, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]);
    return isDate(String(month), pesel.slice(4, 6)) && sum % 10 === 0;
  }),
  // Belgium: national register number, of people born in either century.
  id(
    /\d{2}\.?\d{2}\.?\d{2}[-.]?\d{3}[-.]?\d{2}(?!\w)/y,
    ofDigits((number) => {
      const [head, check] = [number.slice(0, 9), Number(number.slice(9))];
      const isOf = (digits: string) => 97 - remainder(digits, 97) === check;
      return isDate(number.slice(2, 4), number.slice(4, 6)) && (isOf(head) || isOf(`2${head}`));
    }),
  ),
  // Sweden: personnummer.
  id(
    /(?:19|20)?\d{6}[-+]\d{4}(?!\w)/y,
    ofDigits((number) => {
      const short = number.slice(-10);
      return isDate(short.slice(2, 4), String(((Number(short.slice(4, 6)) - 1) % 60) + 1)) && passesLuhn(short);
    }),
  ),
  // Finland: henkilötunnus.
  id(/\d{6}[-+A-FU-Y]\d{3}[\dA-FHJ-NPR-Y](?!\w)/iy, (text) => {
    const letter = '0123456789ABCDEFHJKLMNPRSTUVWXY'[Number(text.slice(0, 6) + text.slice(7, 10)) % 31];
    return isDate(text.slice(2, 4), text.slice(0, 2)) && letter === text.at(-1);
  }),
  // Türkiye: T.C. kimlik numarası.
  id(/[1-9]\d{10}(?!\w)/y, (number) => {
    const odd = weighted(number, [1, 0, 1, 0, 1, 0, 1, 0, 1]);
    const even = weighted(number, [0, 1, 0, 1, 0, 1, 0, 1]);
    const sum = weighted(number, Array(10).fill(1));
    return (odd * 7 - even + 10 * 9) % 10 === at(number, 9) && sum % 10 === at(number, 10);
  }),
  // India: Aadhaar, as it is printed.
  id(/[2-9]\d{3}[ -]\d{4}[ -]\d{4}(?![ -]?\w)/y, ofDigits(passesVerhoeff)),
];

function isMod11(digits: string, checked: number): boolean {
  let sum = 0;
  for (let place = 0; place < checked; place++) sum += at(digits, place) * (checked + 1 - place);
  return ((sum * 10) % 11) % 10 === at(digits, checked);
}

const spanishLetter = (number: string) => 'TRWAGMYFPDXBNJZSQVHLCKE'[Number(number) % 23];

/** The values of 0–9 and A–Z in odd places (Decreto Ministeriale of 23 December 1976). */
const italianOdd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

function isItalian(text: string): boolean {
  let sum = 0;
  for (let place = 0; place < 15; place++) {
    const code = text.charCodeAt(place);
    const value = code >= 65 ? code - 65 : code - 48;
    sum += place % 2 === 0 ? (italianOdd[value] ?? 0) : value;
  }
  return String.fromCharCode(65 + (sum % 26)) === text[15];
}

/** By the dihedral group of ten elements (Verhoeff, 1969). */
function passesVerhoeff(digits: string): boolean {
  let check = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = at(digits, digits.length - 1 - place);
    check = dihedral(check, permuted(digit, place % 8));
  }
  return check === 0;
}

function dihedral(a: number, b: number): number {
  const turned = a < 5 ? a + (b % 5) : a - (b % 5);
  const isMirrored = a < 5 !== b < 5;
  return (((turned % 5) + 5) % 5) + (isMirrored ? 5 : 0);
}

const verhoeffStep = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

function permuted(digit: number, times: number): number {
  let result = digit;
  for (let time = 0; time < times; time++) result = verhoeffStep[result] ?? 0;
  return result;
}
