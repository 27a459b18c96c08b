/** The digits of a text, without what separates them. */
export function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}

/** The check digit of cards and of many ids (ISO/IEC 7812-1). */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, doubled = false; at >= 0; at--, doubled = !doubled) {
    const digit = digits.charCodeAt(at) - 48;
    sum += doubled ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return sum % 10 === 0;
}

/** The remainder of a decimal number of any length. */
export function remainder(digits: string, by: number): number {
  let rest = 0;
  for (let at = 0; at < digits.length; at++) rest = (rest * 10 + digits.charCodeAt(at) - 48) % by;
  return rest;
}

/** The sum of digits, each times its weight. */
export function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => sum + weight * (digits.charCodeAt(at) - 48), 0);
}

export function isDate(month: string, day: string): boolean {
  return Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31;
}
