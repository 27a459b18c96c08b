/** What a file is, told by its first bytes and not by its name. */
export interface Sniffed {
  container: Container;
  mime: string;
  /** Without a dot; what upstreams that look at the name expect. */
  extension: string;
}

export type Container =
  | 'wav'
  | 'mp3'
  | 'ogg'
  | 'webm'
  | 'matroska'
  | 'mp4'
  | 'mov'
  | 'flac'
  | 'aac'
  | 'aiff'
  | 'caf'
  | 'amr'
  | 'asf';

/** How many of a file's first bytes are enough. */
export const sniffBytesNeeded = 4096;

/** A file of sound (or of pictures with sound), from its first bytes; null when it is none that we know. */
export function sniffAudio(bytes: Uint8Array): Sniffed | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, sniffBytesNeeded));
  const text = head.toString('latin1');
  if (/^(RIFF|RF64|RIFX)....WAVE/s.test(text)) return { container: 'wav', mime: 'audio/wav', extension: 'wav' };
  if (text.startsWith('fLaC')) return { container: 'flac', mime: 'audio/flac', extension: 'flac' };
  if (text.startsWith('OggS')) return { container: 'ogg', mime: 'audio/ogg', extension: 'ogg' };
  if (text.startsWith('\x1aE\xdf\xa3')) return matroska(text);
  if (text.slice(4, 8) === 'ftyp') return isoMedia(text.slice(8, 12));
  if (/^.{4}(moov|mdat|wide|free|skip)/s.test(text))
    return { container: 'mov', mime: 'video/quicktime', extension: 'mov' };
  if (/^FORM....AIF[FC]/s.test(text)) return { container: 'aiff', mime: 'audio/aiff', extension: 'aiff' };
  if (text.startsWith('caff')) return { container: 'caf', mime: 'audio/x-caf', extension: 'caf' };
  if (text.startsWith('#!AMR')) return { container: 'amr', mime: 'audio/amr', extension: 'amr' };
  if (text.startsWith('\x30\x26\xb2\x75\x8e\x66\xcf\x11'))
    return { container: 'asf', mime: 'audio/x-ms-wma', extension: 'wma' };
  return framed(head);
}

function matroska(text: string): Sniffed {
  // The document type stands in the first element.
  return text.slice(0, 128).includes('webm')
    ? { container: 'webm', mime: 'audio/webm', extension: 'webm' }
    : { container: 'matroska', mime: 'audio/x-matroska', extension: 'mkv' };
}

function isoMedia(brand: string): Sniffed | null {
  if (brand.startsWith('qt')) return { container: 'mov', mime: 'video/quicktime', extension: 'mov' };
  if (/^M4[AB]/.test(brand)) return { container: 'mp4', mime: 'audio/mp4', extension: 'm4a' };
  // Pictures share the container.
  if (/^(avif|avis|heic|heix|heim|heis|hevc|mif1|msf1|jxl )/.test(brand)) return null;
  return { container: 'mp4', mime: 'audio/mp4', extension: 'mp4' };
}

/** MP3 and ADTS have no header of a file, only of frames: one could be chance, so the next must be where it says. */
function framed(head: Buffer): Sniffed | null {
  const mp3 = { container: 'mp3', mime: 'audio/mpeg', extension: 'mp3' } as const;
  const aac = { container: 'aac', mime: 'audio/aac', extension: 'aac' } as const;
  let at = 0;
  if (head.length >= 10 && head.toString('latin1', 0, 3) === 'ID3') {
    at = 10 + id3Bytes(head);
    // A tag with a picture is longer than what is looked at; AAC is seldom tagged.
    if (at + 8 > head.length) return mp3;
  }
  // Zeros before the first frame are common.
  while (at < head.length && head[at] === 0) at += 1;
  for (const [kind, lengthOf] of [[mp3, mp3FrameBytes] as const, [aac, adtsFrameBytes] as const]) {
    const length = lengthOf(head, at);
    if (length === null) continue;
    const next = at + length;
    if (next + 4 > head.length ? head.length - at >= 4 : lengthOf(head, next) !== null) return kind;
  }
  return null;
}

function id3Bytes(head: Buffer): number {
  return ((head[6]! & 127) << 21) | ((head[7]! & 127) << 14) | ((head[8]! & 127) << 7) | (head[9]! & 127);
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

/** Length of the MPEG audio frame that begins here; null: none does. */
function mp3FrameBytes(head: Buffer, at: number): number | null {
  if (at + 4 > head.length || head[at] !== 0xff || (head[at + 1]! & 0xe0) !== 0xe0) return null;
  const versionBits = (head[at + 1]! >> 3) & 3;
  const layerBits = (head[at + 1]! >> 1) & 3;
  const bitrateIndex = head[at + 2]! >> 4;
  const rateIndex = (head[at + 2]! >> 2) & 3;
  if (versionBits === 1 || layerBits === 0 || bitrateIndex === 0 || bitrateIndex === 15 || rateIndex === 3) return null;
  const layer = 4 - layerBits;
  const isFirst = versionBits === 3;
  const kbits = mp3Bitrates[`${isFirst ? 1 : 2}-${layer}`]?.[bitrateIndex - 1];
  if (kbits === undefined) return null;
  const rateHz = ([44_100, 48_000, 32_000][rateIndex] ?? 0) / (isFirst ? 1 : versionBits === 2 ? 2 : 4);
  const padding = (head[at + 2]! >> 1) & 1;
  if (layer === 1) return (Math.floor((12 * kbits * 1000) / rateHz) + padding) * 4;
  return Math.floor(((layer === 3 && !isFirst ? 72 : 144) * kbits * 1000) / rateHz) + padding;
}

/** Length of the ADTS frame that begins here; null: none does. */
function adtsFrameBytes(head: Buffer, at: number): number | null {
  if (at + 6 > head.length) return null;
  // Layer is always 0 there, which MPEG audio never has.
  if (head[at] !== 0xff || (head[at + 1]! & 0xf6) !== 0xf0 || ((head[at + 2]! >> 2) & 15) > 12) return null;
  const length = ((head[at + 3]! & 3) << 11) | (head[at + 4]! << 3) | (head[at + 5]! >> 5);
  return length < 7 ? null : length;
}
