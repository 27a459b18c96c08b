/** A frame of MPEG audio or ADTS, from its header. */
export interface SoundFrame {
  /** The header included. */
  bytes: number;
  /** Samples of each channel. */
  samples: number;
  rateHz: number;
}

/** Bytes of the header of an ID3 tag, or of a frame: enough to read the length of what follows. */
export const frameHeaderBytes = 10;

/** Length of the ID3 tag that begins here, without its 10 bytes of header. */
export function id3Bytes(head: Buffer, at: number): number {
  const seven = (place: number) => (head[at + place] ?? 0) & 127;
  return (seven(6) << 21) | (seven(7) << 14) | (seven(8) << 7) | seven(9);
}

/** kbit/s by version (MPEG 1; MPEG 2 and 2.5) and layer (1, 2, 3). */
const mp3Bitrates: Readonly<Record<string, readonly number[]>> = {
  '1-1': [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  '1-2': [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  '1-3': [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  '2-1': [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  '2-2': [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  '2-3': [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};

/** The MPEG audio frame that begins here; null: none does. */
export function mp3Frame(head: Buffer, at: number): SoundFrame | null {
  if (at + 4 > head.length || head[at] !== 0xff || (head.readUInt8(at + 1) & 0xe0) !== 0xe0) return null;
  const bits = head.readUInt16BE(at + 1);
  const versionBits = (bits >> 11) & 3;
  const layerBits = (bits >> 9) & 3;
  const bitrateIndex = (bits >> 4) & 15;
  const rateIndex = (bits >> 2) & 3;
  if (versionBits === 1 || layerBits === 0 || bitrateIndex === 0 || bitrateIndex === 15 || rateIndex === 3) return null;
  const layer = 4 - layerBits;
  const isFirst = versionBits === 3;
  const kbits = mp3Bitrates[`${isFirst ? 1 : 2}-${layer}`]?.[bitrateIndex - 1];
  if (kbits === undefined) return null;
  const rateHz = ([44_100, 48_000, 32_000][rateIndex] ?? 0) / (isFirst ? 1 : versionBits === 2 ? 2 : 4);
  const padding = (bits >> 1) & 1;
  if (layer === 1) return { bytes: (Math.floor((12 * kbits * 1000) / rateHz) + padding) * 4, samples: 384, rateHz };
  const samples = layer === 3 && !isFirst ? 576 : 1_152;
  return { bytes: Math.floor(((samples / 8) * kbits * 1000) / rateHz) + padding, samples, rateHz };
}

const adtsRatesHz = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

/** The ADTS frame (AAC) that begins here; null: none does. */
export function adtsFrame(head: Buffer, at: number): SoundFrame | null {
  if (at + 7 > head.length) return null;
  // Layer is always 0 there, which MPEG audio never has.
  if (head[at] !== 0xff || (head.readUInt8(at + 1) & 0xf6) !== 0xf0) return null;
  const rateHz = adtsRatesHz[(head.readUInt8(at + 2) >> 2) & 15];
  const bytes = (head.readUIntBE(at + 3, 3) >> 5) & 0x1fff;
  if (rateHz === undefined || bytes < 7) return null;
  return { bytes, samples: 1_024 * ((head.readUInt8(at + 6) & 3) + 1), rateHz };
}
