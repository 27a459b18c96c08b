/** Converts samples of one rate into another, piece by piece. */
export interface Resampler {
  push(samples: Float32Array): Float32Array;
  /** The last samples, which waited for those after them. */
  end(): Float32Array;
}

/** Zero crossings of the sinc on each side: they damp aliases by 60 dB, enough for speech. */
const zeroCrossings = 12;
/** Share of the lower half rate that is kept; the filter falls in the rest. */
const passbandShare = 0.92;
/** Steps of the filter's table between two zero crossings; between steps it is interpolated. */
const stepsPerCrossing = 256;

/**
 * A band-limited resampler (windowed sinc): rates need have no common measure. Output sample `i` belongs to time
 * `i / toHz`, so that length and pitch stay; `ceil(samples × toHz / fromHz)` samples come out in all.
 */
export function createResampler(fromHz: number, toHz: number): Resampler {
  if (fromHz === toHz) return { push: (samples) => samples, end: () => new Float32Array(0) };
  const step = fromHz / toHz;
  // Going down, what the lower rate cannot carry is taken out first.
  const cutoff = passbandShare * Math.min(1, toHz / fromHz);
  const reach = zeroCrossings / cutoff;
  let held = new Float32Array(0);
  /** Index, in the whole input, of the first held sample. */
  let heldFrom = 0;
  let received = 0;
  let given = 0;

  const outputUntil = (endsBefore: number): Float32Array => {
    // Those output samples whose last input neighbour is there.
    let count = 0;
    while ((given + count) * step < endsBefore) count += 1;
    const out = new Float32Array(count);
    for (let i = 0; i < count; i += 1) {
      const centre = (given + i) * step;
      const from = Math.max(heldFrom, Math.ceil(centre - reach));
      const to = Math.min(received - 1, Math.floor(centre + reach));
      let sum = 0;
      let weights = 0;
      for (let at = from; at <= to; at += 1) {
        const weight = filterAt(Math.abs(at - centre) * cutoff);
        sum += (held[at - heldFrom] ?? 0) * weight;
        weights += weight;
      }
      // Divided by the weights that took part: at both ends, where half of them are missing, the loudness stays the
      // same.
      out[i] = weights > 1e-3 ? sum / weights : 0;
    }
    given += count;
    return out;
  };
  return {
    push(samples) {
      const keepFrom = Math.max(heldFrom, Math.floor(given * step - reach));
      const tail = held.subarray(keepFrom - heldFrom);
      const joined = new Float32Array(tail.length + samples.length);
      joined.set(tail);
      joined.set(samples, tail.length);
      held = joined;
      heldFrom = keepFrom;
      received += samples.length;
      return outputUntil(received - reach);
    },
    end: () => outputUntil(received),
  };
}

/** The filter's value this many zero crossings from its middle; 0 from `zeroCrossings` on. */
function filterAt(crossings: number): number {
  const at = crossings * stepsPerCrossing;
  const index = Math.floor(at);
  const low = filterTable[index] ?? 0;
  return low + ((filterTable[index + 1] ?? 0) - low) * (at - index);
}

const filterTable = Float64Array.from({ length: zeroCrossings * stepsPerCrossing + 1 }, (_, index) => {
  const x = index / stepsPerCrossing;
  const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
  // Blackman's window over both sides.
  const phase = Math.PI * (1 + x / zeroCrossings);
  return sinc * (0.42 - 0.5 * Math.cos(phase) + 0.08 * Math.cos(2 * phase));
});
