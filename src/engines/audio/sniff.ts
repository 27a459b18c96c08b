import { adtsFrame, id3Bytes, mp3Frame } from './sound-frames.ts';

/** Type of a file, known by its first bytes and not by its name. */
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
  // The document type is in the first element.
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
    at = 10 + id3Bytes(head, 0);
    // A tag with a picture is longer than the part that is read; AAC is seldom tagged.
    if (at + 8 > head.length) return mp3;
  }
  // Zeros before the first frame are common.
  while (at < head.length && head[at] === 0) at += 1;
  for (const [kind, frameAt] of [[mp3, mp3Frame] as const, [aac, adtsFrame] as const]) {
    const frame = frameAt(head, at);
    if (frame === null) continue;
    const next = at + frame.bytes;
    if (next + 4 > head.length ? head.length - at >= 4 : frameAt(head, next) !== null) return kind;
  }
  return null;
}
