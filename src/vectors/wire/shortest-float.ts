const powersOfTen = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Digits that tell any 32-bit float from its neighbours. */
const digitsMax = 9;

/**
 * The number with the fewest decimal digits that is `value` as a 32-bit float: 0.1 for 0.10000000149011612. JSON shows
 * vectors as they were written, in half the bytes.
 */
export function shortestFloat(value: number): number {
  const float = Math.fround(value);
  const size = Math.abs(float);
  // Outside this range, integers and powers of ten are no longer exact, and vectors hold no such numbers.
  if (!(size >= 1e-9 && size < 1e9)) return float === 0 ? 0 : Number.isFinite(float) ? byPrecision(float) : float;
  // Decimals after which there are 6 digits or more: fewer would do too, as 0.25 is 0.250000.
  let decimals = 6;
  while (decimals > 0 && size >= powersOfTen[6 - decimals + 1]!) decimals--;
  if (size < 0.1) for (let bound = 0.1; size < bound && decimals < 15; bound /= 10) decimals++;
  for (let tries = 0; tries <= digitsMax - 5; tries++, decimals++) {
    const power = powersOfTen[decimals]!;
    const rounded = Math.round(float * power) / power;
    if (Math.fround(rounded) === float) return rounded;
  }
  return byPrecision(float);
}

function byPrecision(float: number): number {
  for (let digits = 1; digits < digitsMax; digits++) {
    const shorter = Number(float.toPrecision(digits));
    if (Math.fround(shorter) === float) return shorter;
  }
  return Number(float.toPrecision(digitsMax));
}
