import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  Metadata,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/min';

/** Finds phone numbers by the numbering plans of all countries, as Google's libphonenumber has them. */
export type PhoneNumbers = ReturnType<typeof phoneNumbers>;

/** With `+` or `00`. The separators are those that people write. */
const international = /(?:\+|00 ?)\d(?:[ .\-/()\u00a0]{0,2}\d){6,16}/y;
/** Within a country whose numbers are looked for. */
const domestic = /\(?\d(?:[ .\-/()\u00a0]{0,2}\d){6,13}/y;

/** Numbers as people write them within some countries; digits alone say too little, but for forms that nothing else has. */
const national = [
  // North America.
  /(?:1[ .-])?\(?[2-9]\d{2}\)?[ .-]{1,2}[2-9]\d{2}[ .-]\d{4}(?![\w-])/y,
  // A trunk 0: most of Europe, Japan, Australia.
  /\(?0[1-9]\d{0,4}\)?(?:[ ./-]{1,3}\d{2,9}){1,5}(?!\w|[.-]\d)/y,
  /0[1-9]\d{8,9}(?!\w|[.-]\w)/y,
  // Mobile numbers and landlines of Spain, Poland, Italy and China.
  /[5-9]\d{2}[ -]\d{3}[ -]\d{3}(?!\w|[ -]\d)/y,
  /[5-9]\d{2}(?: \d{2}){3}(?!\w| \d)/y,
  /9\d \d{3} \d{2} \d{2}(?!\w| \d)/y,
  /3\d{2} \d{6,7}(?!\w| \d)/y,
  /1[3-9]\d(?:[ -]?\d{4}){2}(?!\w|[ -]\d)/y,
];

/** Groups at the end of what looks like a number that may be something else, such as a year. */
const cutsMax = 2;

/** `countries`: those whose numbers count in every valid form, also as digits alone. */
export function phoneNumbers(countries: readonly string[] = []) {
  const plans = countries.map((country) => planOf(country as CountryCode));
  const isDomestic = (written: string) => {
    const { length } = written.replace(/\D/g, '');
    return plans.some((plan) => length >= plan.least && length <= plan.most && isValid(written, plan.country));
  };
  return {
    /** Digits of the shortest one without a country code. */
    least: Math.min(9, ...plans.map(({ least }) => least)),
    /** The end of the number that begins there; -1: none does. */
    end(text: string, start: number): number {
      const abroad = endOf(international, text, start, isPossible);
      if (abroad !== -1) return abroad;
      const domesticEnd = plans.length === 0 ? -1 : endOf(domestic, text, start, isDomestic);
      return domesticEnd === -1 ? nationalEnd(text, start) : domesticEnd;
    },
  };
}

interface Plan {
  country: CountryCode;
  /** Digits, with a prefix of the country's own for the most. */
  least: number;
  most: number;
}

function planOf(country: CountryCode): Plan {
  const lengths = lengthsOf(country);
  return { country, least: Math.max(7, Math.min(...lengths)), most: Math.max(...lengths) + 2 };
}

const isValid = (written: string, country: CountryCode) =>
  parsePhoneNumberFromString(written, country)?.isValid() === true;

/** By calling code, how many digits may follow it. Services without a country have eight or more. */
const lengthsByCode = new Map<string, ReadonlySet<number>>(
  ['800', '808', '870', '878', '881', '882', '883', '888', '979'].map((code) => [code, new Set([8, 9, 10, 11, 12])]),
);
for (const country of getCountries()) {
  const code = getCountryCallingCode(country);
  lengthsByCode.set(code, new Set([...(lengthsByCode.get(code) ?? []), ...lengthsOf(country)]));
}

/** Numbers in examples and wrong ones of the right length count too. */
function isPossible(written: string): boolean {
  const digits = written.replace(/\D/g, '').replace(/^00/, '');
  return [1, 2, 3].some((chars) => lengthsByCode.get(digits.slice(0, chars))?.has(digits.length - chars));
}

function lengthsOf(country: CountryCode): number[] {
  const metadata = new Metadata();
  metadata.selectNumberingPlan(country);
  return metadata.numberingPlan?.possibleLengths() ?? [];
}

/** Where the longest of what has a form ends that is a number; -1: none is. */
function endOf(form: RegExp, text: string, start: number, isNumber: (written: string) => boolean): number {
  form.lastIndex = start;
  let written = form.exec(text)?.[0] ?? '';
  for (let cuts = 0; cuts <= cutsMax && written !== ''; cuts++) {
    const end = start + written.length;
    if (!/[\w]/.test(text.charAt(end)) && isNumber(written)) return end;
    written = /^(.*\d)\D+\d+$/s.exec(written)?.[1] ?? '';
  }
  return -1;
}

function nationalEnd(text: string, start: number): number {
  for (const form of national) {
    form.lastIndex = start;
    const matched = form.exec(text)?.[0];
    if (matched === undefined) continue;
    const digits = matched.replace(/\D/g, '').length;
    if (digits >= 9 && digits <= 12) return start + matched.length;
  }
  return -1;
}
