import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { flacDurationMs } from './flac-duration.ts';
import { sniffAudio, sniffBytesNeeded } from './sniff.ts';
import { adtsFrame, frameHeaderBytes, id3Bytes, mp3Frame } from './sound-frames.ts';

/**
 * Ms of sound in an mp3, aac (ADTS) or flac file without ffmpeg: counted from the frames that are there, as a header may
 * say anything. Null for other files, and for those without a frame.
 */
export async function ownDurationMs(path: string, signal?: AbortSignal): Promise<number | null> {
  const file = await open(path, 'r');
  try {
    const first = await file.read(Buffer.alloc(sniffBytesNeeded), 0, sniffBytesNeeded, 0);
    const container = sniffAudio(first.buffer.subarray(0, first.bytesRead))?.container;
    if (container === 'flac') return await flacDurationMs(file, (await file.stat()).size);
    if (container !== 'mp3' && container !== 'aac') return null;
    return await framesMs(path, container === 'mp3' ? mp3Frame : adtsFrame, signal);
  } finally {
    await file.close();
  }
}

const pieceBytes = 256 * 1024;

/** Goes from frame to frame; over what is none, to the next that is followed by another. */
async function framesMs(path: string, frameAt: typeof mp3Frame, signal?: AbortSignal): Promise<number | null> {
  let ms = 0;
  let rest: Buffer = Buffer.alloc(0);
  /** Of a frame or a tag that reaches beyond what was read. */
  let skip = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: pieceBytes, ...(signal && { signal }) })) {
    const piece = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    let at = skip;
    while (at + frameHeaderBytes <= piece.length) {
      const frame = frameAt(piece, at);
      if (frame !== null) {
        ms += (frame.samples * 1_000) / frame.rateHz;
        at += frame.bytes;
      } else if (piece.toString('latin1', at, at + 3) === 'ID3') at += frameHeaderBytes + id3Bytes(piece, at);
      else at = nextFrame(piece, at + 1, frameAt);
    }
    skip = Math.max(0, at - piece.length);
    rest = piece.subarray(Math.min(at, piece.length));
  }
  return ms === 0 ? null : ms;
}

/** Two bits of a header are easily chance: the frame after it must be where it says, as far as can be seen. */
function nextFrame(piece: Buffer, from: number, frameAt: typeof mp3Frame): number {
  for (let at = piece.indexOf(0xff, from); at >= 0; at = piece.indexOf(0xff, at + 1)) {
    if (at + frameHeaderBytes > piece.length) return at;
    const frame = frameAt(piece, at);
    if (frame === null) continue;
    const next = at + frame.bytes;
    if (next + frameHeaderBytes > piece.length || frameAt(piece, next) !== null) return at;
  }
  return piece.length;
}
