/** Some bytes of a file, and how much of the sound they hold. */
export interface SoundBlock {
  bytes: Buffer;
  ms: number;
}

export const sampleRateHz = 24_000;
/** The same rate as for the mp3. */
const pitchHz = 573;
const amplitude = 8_000;
const blockSamples = 480;

/** The tone's samples from `start` on. */
export function toneSamples(start: number, count: number): Int16Array {
  const samples = new Int16Array(count);
  for (let at = 0; at < count; at += 1) {
    samples[at] = Math.round(amplitude * Math.sin((2 * Math.PI * pitchHz * (start + at)) / sampleRateHz));
  }
  return samples;
}

export function samplesIn(ms: number): number {
  return Math.round((ms * sampleRateHz) / 1_000);
}

/** s16le, mono, without a header. */
export function* pcmBlocks(ms: number): Generator<SoundBlock> {
  const samples = samplesIn(ms);
  for (let at = 0; at < samples; at += blockSamples) {
    const block = toneSamples(at, Math.min(blockSamples, samples - at));
    const bytes = Buffer.alloc(block.length * 2);
    for (const [index, sample] of block.entries()) bytes.writeInt16LE(sample, index * 2);
    yield { bytes, ms: (block.length * 1_000) / sampleRateHz };
  }
}

/** The most that a header of 32 bits can tell. */
const dataBytesMax = 0xffff_ffff - 36;

/** The same behind a header that tells its true length, as far as it can. */
export function* wavBlocks(ms: number): Generator<SoundBlock> {
  const dataBytes = Math.min(dataBytesMax, samplesIn(ms) * 2);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + dataBytes, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(sampleRateHz, 24);
  head.writeUInt32LE(sampleRateHz * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(dataBytes, 40);
  yield { bytes: head, ms: 0 };
  yield* pcmBlocks(ms);
}
