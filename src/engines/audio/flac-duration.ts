import type { FileHandle } from 'node:fs/promises';
import { crc8 } from './flac.ts';

/** The marker, and STREAMINFO, which is always the first block. */
const headBytes = 42;
/** Some frames of any block size that is in use. */
const tailBytes = 512 * 1024;
const frameHeaderBytesMax = 16;

/**
 * Ms of sound in a FLAC file: where its last frame ends. Its STREAMINFO says the length too, but not of a file that was
 * streamed or cut, or that is wrong. Null where there is no frame and no word of it.
 */
export async function flacDurationMs(file: FileHandle, fileBytes: number): Promise<number | null> {
  const { buffer: head, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  if (bytesRead < headBytes || head.toString('latin1', 0, 4) !== 'fLaC') return null;
  const rateHz = head.readUIntBE(18, 3) >> 4;
  if (rateHz === 0) return null;
  const info = { blockSamples: head.readUInt16BE(10), channels: ((head.readUInt8(20) >> 1) & 7) + 1 };
  const from = Math.max(headBytes, fileBytes - tailBytes);
  const { buffer: tail, bytesRead: tailRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, from);
  const declared = (head.readUInt8(21) & 15) * 2 ** 32 + head.readUInt32BE(22);
  const samples = lastSample(tail.subarray(0, tailRead), info) ?? (declared === 0 ? null : declared);
  return samples === null ? null : (samples * 1_000) / rateHz;
}

interface StreamInfo {
  blockSamples: number;
  channels: number;
}

/** The end of the last frame whose header begins in these bytes. */
function lastSample(bytes: Buffer, info: StreamInfo): number | null {
  for (let at = bytes.lastIndexOf(0xff); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(0xff, at - 1)) {
    const end = frameEnd(bytes.subarray(at, at + frameHeaderBytesMax), info);
    if (end !== null) return end;
  }
  return null;
}

/** The number of the sample behind the frame that begins here; null: none does (RFC 9639 §9.1). */
function frameEnd(bytes: Buffer, { blockSamples, channels }: StreamInfo): number | null {
  const variable = bytes[1] === 0xf9;
  if (bytes.length < 6 || (bytes[1] !== 0xf8 && !variable)) return null;
  const [sizeCode, rateCode] = [bytes.readUInt8(2) >> 4, bytes.readUInt8(2) & 15];
  const channelCode = bytes.readUInt8(3) >> 4;
  if (sizeCode === 0 || rateCode === 15 || (bytes.readUInt8(3) & 1) !== 0) return null;
  // 8 to 10 are the ways to write two channels as one and a difference.
  if (channelCode > 10 || (channelCode >= 8 ? 2 : channelCode + 1) !== channels) return null;
  const number = codedNumber(bytes.subarray(4));
  if (number === null) return null;
  let at = 4 + number.bytes;
  let samples = blockSizes(sizeCode);
  if (samples === null) {
    const wide = sizeCode === 7;
    if (at + 2 > bytes.length) return null;
    samples = (wide ? bytes.readUInt16BE(at) : bytes.readUInt8(at)) + 1;
    at += wide ? 2 : 1;
  }
  at += rateCode === 12 ? 1 : rateCode >= 13 ? 2 : 0;
  if (at >= bytes.length || crc8(bytes.subarray(0, at)) !== bytes[at]) return null;
  return (variable ? number.value : number.value * blockSamples) + samples;
}

/** Null: it follows the number. */
function blockSizes(code: number): number | null {
  if (code === 1) return 192;
  if (code <= 5) return 576 * 2 ** (code - 2);
  return code <= 7 ? null : 256 * 2 ** (code - 8);
}

/** A number in UTF-8's code of characters, up to 36 bits. */
function codedNumber(bytes: Buffer): { value: number; bytes: number } | null {
  const first = bytes[0] ?? 0xff;
  if (first < 0x80) return { value: first, bytes: 1 };
  const length = Math.clz32(~(first << 24));
  if (length < 2 || length > 7 || length > bytes.length) return null;
  let value = first & (0x7f >> length);
  for (const byte of bytes.subarray(1, length)) {
    if (byte >> 6 !== 2) return null;
    value = value * 64 + (byte & 63);
  }
  return { value, bytes: length };
}
