/**
 * Country calling codes (ITU-T E.164): with `+` or `00`, one of them and 7 to 15 digits are a number.
 */
const callingCodes =
  /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|2[1-689]\d|3[578]\d|42\d|5[09]\d|6[7-9]\d|8[0578]\d|9[679]\d)/;

/** With `+` or `00`. The separators are those that people write. */
const international = /(?:\+|00)\d(?:[ .\-/()\u00a0]{0,2}\d){6,14}(?![\d])/y;

/** As people write them within their country; digits alone say too little, but for forms that nothing else has. */
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

/** The end of the phone number that begins there; -1: none does. */
export function phoneEnd(text: string, start: number): number {
  international.lastIndex = start;
  const found = international.exec(text)?.[0];
  if (found !== undefined) {
    const digits = found.replace(/\D/g, '').replace(/^00/, '');
    if (callingCodes.test(digits) && digits.length <= 15) return start + found.length;
  }
  for (const form of national) {
    form.lastIndex = start;
    const matched = form.exec(text)?.[0];
    if (matched === undefined) continue;
    const digits = matched.replace(/\D/g, '').length;
    if (digits >= 9 && digits <= 12) return start + matched.length;
  }
  return -1;
}
