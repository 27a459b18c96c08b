import { cyclicSum } from './cyclic-sum.ts';

/** Samples of a frame: 170 ms at 24 kHz. */
export const flacBlockSamples = 4096;
const sampleBits = 16;
/** How a frame says its rate, so that it can be played without the file's beginning; others say 0, "as there". */
const rateCodes: Readonly<Record<number, number>> = {
  8000: 4,
  16000: 5,
  22050: 6,
  24000: 7,
  32000: 8,
  44100: 9,
  48000: 10,
};
/** Highest fixed predictor; the format has no more. */
const orderMax = 4;
/** With four bits to say it, 15 being an escape. */
const riceParameterMax = 14;

/** Writes FLAC of s16 samples of one channel, block by block. `samples`: the length of the file, 0 where it is not known yet. */
export function createFlacWriter(rateHz: number, samples = 0) {
  const bits = createBits();
  const block = new Int16Array(flacBlockSamples);
  let filled = 0;
  let frame = 0;
  const rateCode = rateCodes[rateHz] ?? 0;
  const write = (count: number) => {
    const bytes = frameOf(bits, block.subarray(0, count), { number: frame, rateCode });
    frame += 1;
    filled = 0;
    return bytes;
  };
  return {
    /** The beginning of the file. */
    head: headOf(rateHz, samples),
    push(samples: Int16Array): Buffer {
      const frames: Buffer[] = [];
      for (let at = 0; at < samples.length; ) {
        const part = samples.subarray(at, at + flacBlockSamples - filled);
        block.set(part, filled);
        filled += part.length;
        at += part.length;
        if (filled === flacBlockSamples) frames.push(write(flacBlockSamples));
      }
      return frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames);
    },
    /** The last, shorter block. */
    end: (): Buffer => (filled === 0 ? Buffer.alloc(0) : write(filled)),
  };
}

/** The marker and the one required block, STREAMINFO, with zeros for unknown values. */
function headOf(rateHz: number, samples: number): Buffer {
  const head = Buffer.alloc(42);
  head.write('fLaC', 0, 'latin1');
  head.writeUInt32BE(0x80_00_00_22, 4);
  head.writeUInt16BE(flacBlockSamples, 8);
  head.writeUInt16BE(flacBlockSamples, 10);
  // 20 bits of rate, 3 of channels less one, 5 of sample size less one, then 36 of length.
  head.writeUIntBE(rateHz * 16 + ((sampleBits - 1) >> 4), 18, 3);
  head.writeUInt8(((sampleBits - 1) & 15) << 4, 21);
  // Longer files than 32 bits can count have an open length, too.
  head.writeUInt32BE(samples > 0xffff_ffff ? 0 : samples, 22);
  return head;
}

function frameOf(bits: Bits, samples: Int16Array, frame: { number: number; rateCode: number }): Buffer {
  bits.clear();
  // Sync and fixed block size; that the block's size follows in 16 bits, and the rate; one channel of 16 bits.
  bits.put(0xfff8, 16);
  bits.put(0x70 | frame.rateCode, 8);
  bits.put(0x08, 8);
  putUtf8(bits, frame.number);
  bits.put(samples.length - 1, 16);
  bits.put(crc8(bits.written()), 8);
  putSubframe(bits, samples);
  bits.align();
  bits.put(cyclicSum(bits.written(), { polynomial: 0x8005, bits: 16 }), 16);
  return Buffer.from(bits.written());
}

/** The frame's number, coded as UTF-8 codes characters. */
function putUtf8(bits: Bits, value: number): void {
  if (value < 0x80) return bits.put(value, 8);
  let more = 1;
  while (value >= 2 ** (6 + 5 * more)) more += 1;
  bits.put(((0xff << (7 - more)) & 0xff) | Math.floor(value / 2 ** (6 * more)), 8);
  for (let i = more - 1; i >= 0; i -= 1) bits.put(0x80 | (Math.floor(value / 2 ** (6 * i)) & 0x3f), 8);
}

function putSubframe(bits: Bits, samples: Int16Array): void {
  const { order, residual, total } = bestPrediction(samples);
  const parameter = riceParameter(total, residual.length);
  const riceBits = residual.length * (parameter + 1) + total / 2 ** parameter;
  if (riceBits > samples.length * sampleBits) {
    // Noise stays as it is.
    bits.put(0b0000_0010, 8);
    for (const sample of samples) bits.put(sample & 0xffff, sampleBits);
    return;
  }
  bits.put((0b001000 | order) << 1, 8);
  for (let i = 0; i < order; i += 1) bits.put((samples[i] ?? 0) & 0xffff, sampleBits);
  // Rice codes with parameters of four bits, in one partition.
  bits.put(0, 6);
  bits.put(parameter, 4);
  for (const value of residual) {
    const folded = value < 0 ? -2 * value - 1 : 2 * value;
    bits.putZeros(folded >> parameter);
    bits.put((1 << parameter) | (folded & ((1 << parameter) - 1)), parameter + 1);
  }
}

/** The differences of the order that leaves least; `total` is the sum of them as Rice codes see them. */
function bestPrediction(samples: Int16Array): { order: number; residual: Int32Array; total: number } {
  let best = { order: 0, residual: Int32Array.from(samples), total: Number.POSITIVE_INFINITY };
  let differences = best.residual;
  for (let order = 0; order <= Math.min(orderMax, samples.length - 1); order += 1) {
    if (order > 0) {
      const before = differences;
      differences = new Int32Array(before.length - 1);
      for (let i = 0; i < differences.length; i += 1) differences[i] = (before[i + 1] ?? 0) - (before[i] ?? 0);
    }
    let total = 0;
    for (const value of differences) total += value < 0 ? -2 * value - 1 : 2 * value;
    if (total < best.total) best = { order, residual: differences, total };
  }
  return best;
}

function riceParameter(total: number, count: number): number {
  let parameter = 0;
  while (parameter < riceParameterMax && count * 2 ** (parameter + 1) < total) parameter += 1;
  return parameter;
}

type Bits = ReturnType<typeof createBits>;

function createBits() {
  let bytes = Buffer.alloc(flacBlockSamples * 4);
  let length = 0;
  let pending = 0;
  let pendingBits = 0;
  const put = (value: number, count: number) => {
    pending = (pending << count) | value;
    pendingBits += count;
    while (pendingBits >= 8) {
      if (length === bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)]);
      pendingBits -= 8;
      bytes[length] = pending >>> pendingBits;
      length += 1;
      pending &= (1 << pendingBits) - 1;
    }
  };
  return {
    clear(): void {
      length = 0;
      pending = 0;
      pendingBits = 0;
    },
    /** At most 24 bits. */
    put,
    putZeros(count: number): void {
      for (let left = count; left > 0; left -= 16) put(0, Math.min(left, 16));
    },
    /** Zeros up to a whole byte. */
    align(): void {
      if (pendingBits > 0) put(0, 8 - pendingBits);
    },
    /** The whole bytes so far; valid until the next put. */
    written: (): Buffer => bytes.subarray(0, length),
  };
}

/** Checksum behind a frame's header, over all its bytes before. */
export function crc8(header: Uint8Array): number {
  return cyclicSum(header, { polynomial: 0x07, bits: 8 });
}
