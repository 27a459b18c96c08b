/** Samples on each side of a place that have a say in it: enough for speech to keep what can be heard of it. */
const reach = 16;
/** Made at one go; between slices others get the loop. */
const sliceSamples = 8_192;

interface Filter {
  /** `up` / `down` is the ratio of the rates in lowest terms. */
  up: number;
  down: number;
  /** By phase: 2 × `reach` weights each. */
  weights: Float64Array;
}

const filters = new Map<string, Filter>();

/** The same sound at another rate, in slices of some thousand samples; the same samples where the rates are one. */
export function* resampled(samples: Int16Array, fromHz: number, toHz: number): Generator<Int16Array> {
  if (samples.length === 0) return;
  if (fromHz === toHz) return yield samples;
  const { up, down, weights } = filterFor(fromHz, toHz);
  const wanted = Math.round((samples.length * up) / down);
  for (let start = 0; start < wanted; start += sliceSamples) {
    const slice = new Int16Array(Math.min(sliceSamples, wanted - start));
    for (let at = 0; at < slice.length; at += 1) {
      const place = (start + at) * down;
      const phase = place % up;
      const first = (place - phase) / up - reach + 1;
      const row = phase * 2 * reach;
      let sum = 0;
      for (let tap = 0; tap < 2 * reach; tap += 1) {
        const value = samples[first + tap];
        if (value !== undefined) sum += value * weights[row + tap]!;
      }
      slice[at] = Math.max(-32_768, Math.min(32_767, Math.round(sum)));
    }
    yield slice;
  }
}

/** A windowed sinc (Hann), cut where the lower of the two rates ends; each phase adds up to 1, so that silence is. */
function filterFor(fromHz: number, toHz: number): Filter {
  const key = `${fromHz}:${toHz}`;
  const kept = filters.get(key);
  if (kept !== undefined) return kept;
  const common = greatestCommon(fromHz, toHz);
  const [up, down] = [toHz / common, fromHz / common];
  const cut = Math.min(1, toHz / fromHz);
  const weights = new Float64Array(up * 2 * reach);
  for (let phase = 0; phase < up; phase += 1) {
    const row = weights.subarray(phase * 2 * reach, (phase + 1) * 2 * reach);
    let sum = 0;
    for (let tap = 0; tap < row.length; tap += 1) {
      const x = tap - reach + 1 - phase / up;
      const sinc = x === 0 ? 1 : Math.sin(Math.PI * x * cut) / (Math.PI * x * cut);
      row[tap] = sinc * (0.5 + 0.5 * Math.cos((Math.PI * x) / reach));
      sum += row[tap]!;
    }
    for (let tap = 0; tap < row.length; tap += 1) row[tap]! /= sum;
  }
  const made = { up, down, weights };
  filters.set(key, made);
  return made;
}

function greatestCommon(one: number, other: number): number {
  return other === 0 ? one : greatestCommon(other, one % other);
}
