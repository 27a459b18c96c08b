/** How samples are written in bytes; all little-endian. */
export type SampleEncoding = 'u8' | 's16' | 's24' | 's32' | 'f32' | 'f64';

export interface WavHeader {
  encoding: SampleEncoding;
  rateHz: number;
  channels: number;
  /** Offset of the first sample. */
  dataOffsetBytes: number;
  /** Length of the samples; null when the header leaves it open, as one written while streaming does. */
  dataBytes: number | null;
}

export const wavHeaderBytes = 44;
/** Sizes in a header when they are not known yet. */
const openSize = 0xffffffff;
/** No header is looked for beyond this: in real files a few hundred bytes come before the samples. */
export const wavHeaderBytesMax = 64 * 1024;
const channelsMax = 32;
const rateHzMax = 768_000;
/**
 * Nothing is recorded below this rate. Converted to our rate, one byte a second would become 48,000: a forged header
 * would hold up the whole process.
 */
const rateHzMin = 4_000;

/** The header of a wav file of s16le samples. `dataBytes` null: a stream of unknown length. */
export function wavHeader(format: { rateHz: number; channels: number }, dataBytes: number | null): Buffer {
  const header = Buffer.alloc(wavHeaderBytes);
  const frameBytes = format.channels * 2;
  // A file above 4 GB cannot say its size; readers then take what comes.
  const known = dataBytes !== null && dataBytes <= openSize - wavHeaderBytes ? dataBytes : null;
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(known === null ? openSize : known + wavHeaderBytes - 8, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(format.channels, 22);
  header.writeUInt32LE(format.rateHz, 24);
  header.writeUInt32LE(format.rateHz * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(known ?? openSize, 40);
  return header;
}

/**
 * Reads a wav file's header from its first bytes: `more` when they do not reach the samples yet, null when it is not a
 * wav file, or one with compressed samples.
 */
export function readWavHeader(bytes: Uint8Array): WavHeader | 'more' | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pattern = Buffer.from('RIFF....WAVE', 'latin1');
  for (let i = 0; i < Math.min(12, bytes.length); i += 1) if ((i < 4 || i >= 8) && bytes[i] !== pattern[i]) return null;
  let format: { encoding: SampleEncoding; rateHz: number; channels: number } | null = null;
  let at = 12;
  while (at + 8 <= bytes.length) {
    const name = Buffer.from(bytes.subarray(at, at + 4)).toString('latin1');
    const size = view.getUint32(at + 4, true);
    if (name === 'data') {
      if (format === null) return null;
      const open = size === 0 || size >= openSize - wavHeaderBytesMax;
      return { ...format, dataOffsetBytes: at + 8, dataBytes: open ? null : size };
    }
    if (name === 'fmt ') {
      if (at + 8 + Math.min(size, 26) > bytes.length) break;
      format = readFormat(view, at + 8, size);
      if (format === null) return null;
    }
    // Chunks begin at even offsets.
    at += 8 + size + (size & 1);
  }
  return Math.max(at, bytes.length) > wavHeaderBytesMax ? null : 'more';
}

function readFormat(view: DataView, at: number, size: number) {
  if (size < 16) return null;
  const channels = view.getUint16(at + 2, true);
  const rateHz = view.getUint32(at + 4, true);
  const bits = view.getUint16(at + 14, true);
  let code = view.getUint16(at, true);
  // WAVE_FORMAT_EXTENSIBLE: the true code is the start of the sub-format's id.
  if (code === 0xfffe && size >= 26) code = view.getUint16(at + 24, true);
  const encoding = encodingOf(code, bits);
  if (encoding === null || channels < 1 || channels > channelsMax) return null;
  if (rateHz < rateHzMin || rateHz > rateHzMax) return null;
  // A block whose size differs from its samples has padding that nobody uses.
  if (view.getUint16(at + 12, true) !== channels * sampleBytes[encoding]) return null;
  return { encoding, rateHz, channels };
}

function encodingOf(code: number, bits: number): SampleEncoding | null {
  if (code === 1) return ({ 8: 'u8', 16: 's16', 24: 's24', 32: 's32' } as const)[bits] ?? null;
  if (code === 3) return ({ 32: 'f32', 64: 'f64' } as const)[bits] ?? null;
  return null;
}

export const sampleBytes: Readonly<Record<SampleEncoding, number>> = { u8: 1, s16: 2, s24: 3, s32: 4, f32: 4, f64: 8 };

/** Ms of sound that a wav file of `fileBytes` bytes really holds, whatever its header says; null: no readable header. */
export function wavDurationMs(header: WavHeader, fileBytes: number): number {
  const there = Math.max(0, fileBytes - header.dataOffsetBytes);
  const bytes = header.dataBytes === null ? there : Math.min(there, header.dataBytes);
  return (bytes / (sampleBytes[header.encoding] * header.channels) / header.rateHz) * 1000;
}

/** The samples of whole frames as one channel of floats from -1 to 1; channels are averaged. */
export function readSamples(frames: Buffer, format: { encoding: SampleEncoding; channels: number }): Float32Array {
  const bytes = sampleBytes[format.encoding];
  const read = readers[format.encoding];
  const count = Math.floor(frames.length / (bytes * format.channels));
  const samples = new Float32Array(count);
  for (let i = 0, at = 0; i < count; i += 1) {
    let sum = 0;
    for (let channel = 0; channel < format.channels; channel += 1, at += bytes) sum += read(frames, at);
    samples[i] = sum / format.channels;
  }
  return samples;
}

const readers: Readonly<Record<SampleEncoding, (bytes: Buffer, at: number) => number>> = {
  u8: (bytes, at) => (bytes.readUInt8(at) - 128) / 128,
  s16: (bytes, at) => bytes.readInt16LE(at) / 32_768,
  s24: (bytes, at) => bytes.readIntLE(at, 3) / 8_388_608,
  s32: (bytes, at) => bytes.readInt32LE(at) / 2_147_483_648,
  f32: (bytes, at) => bytes.readFloatLE(at),
  f64: (bytes, at) => bytes.readDoubleLE(at),
};

/** Floats from -1 to 1 as s16le bytes. Louder values are clipped, and NaN is silence. */
export function toS16le(samples: Float32Array): Buffer {
  const bytes = Buffer.allocUnsafe(samples.length * 2);
  for (let i = 0; i < samples.length; i += 1) {
    const value = Math.round((samples[i] || 0) * 32_767);
    bytes.writeInt16LE(value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value, i * 2);
  }
  return bytes;
}
