import { cyclicSum } from '../../engines/audio/cyclic-sum.ts';
import { createFlacWriter, flacBlockSamples } from '../../engines/audio/flac.ts';
import { wavHeader } from '../../engines/audio/wav.ts';
import { aacFrame, mp3Frames, opusHead, opusPacket } from './sound-assets.ts';

/** Some bytes of a file, and how much of the sound they hold. */
export interface SoundBlock {
  bytes: Buffer;
  ms: number;
}

export const sampleRateHz = 24_000;
/** The same rate as for the mp3. */
const pitchHz = 573;
const amplitude = 8_000;
const mp3FrameBytes = 96;
const mp3FrameMs = 24;
const aacFrameMs = (1_024 * 1_000) / sampleRateHz;

/** No format needs a tool: a newcomer gets a sound on a bare machine. */
const formats = {
  mp3: { mediaType: 'audio/mpeg', blocks: (ms) => rowOf(mp3Frames, mp3FrameBytes, mp3FrameMs, ms) },
  wav: { mediaType: 'audio/wav', blocks: wavBlocks },
  pcm: { mediaType: 'audio/pcm', blocks: pcmBlocks },
  flac: { mediaType: 'audio/flac', blocks: flacBlocks },
  opus: { mediaType: 'audio/ogg', blocks: opusBlocks },
  aac: { mediaType: 'audio/aac', blocks: (ms) => rowOf(aacFrame, aacFrame.length, aacFrameMs, ms) },
} as const satisfies Record<string, { mediaType: string; blocks(ms: number): Generator<SoundBlock> }>;

/** Frame after frame, over and over, until they last so long. */
function* rowOf(frames: Buffer, frameBytes: number, frameMs: number, ms: number): Generator<SoundBlock> {
  const count = Math.ceil(ms / frameMs);
  for (let at = 0; at < count; at += 1) {
    const from = (at * frameBytes) % frames.length;
    yield { bytes: frames.subarray(from, from + frameBytes), ms: frameMs };
  }
}

function* toneBlocks(ms: number, blockSamples: number): Generator<{ samples: Int16Array; ms: number }> {
  const count = samplesIn(ms);
  for (let start = 0; start < count; start += blockSamples) {
    const samples = Int16Array.from({ length: Math.min(blockSamples, count - start) }, (_, at) =>
      Math.round(amplitude * Math.sin((2 * Math.PI * pitchHz * (start + at)) / sampleRateHz)),
    );
    yield { samples, ms: (samples.length * 1_000) / sampleRateHz };
  }
}

function samplesIn(ms: number): number {
  return Math.round((ms * sampleRateHz) / 1_000);
}

/** s16le, mono, without a header. */
function* pcmBlocks(ms: number): Generator<SoundBlock> {
  for (const block of toneBlocks(ms, 480)) yield { bytes: Buffer.from(block.samples.buffer), ms: block.ms };
}

function* wavBlocks(ms: number): Generator<SoundBlock> {
  yield { bytes: wavHeader({ rateHz: sampleRateHz, channels: 1 }, samplesIn(ms) * 2), ms: 0 };
  yield* pcmBlocks(ms);
}

function* flacBlocks(ms: number): Generator<SoundBlock> {
  const writer = createFlacWriter(sampleRateHz, samplesIn(ms));
  yield { bytes: writer.head, ms: 0 };
  for (const block of toneBlocks(ms, flacBlockSamples)) yield { bytes: writer.push(block.samples), ms: block.ms };
  yield { bytes: writer.end(), ms: 0 };
}

export type SoundFormat = keyof typeof formats;

export function isSoundFormat(name: unknown): name is SoundFormat {
  return typeof name === 'string' && Object.hasOwn(formats, name);
}

export const soundFormatNames: readonly string[] = Object.keys(formats);

export function mediaTypeOf(format: SoundFormat): string {
  return formats[format].mediaType;
}

/** A tone (in opus and aac silence) of this length, as pieces of about `pieceMs` of it. */
export function* soundPieces(format: SoundFormat, ms: number, pieceMs: number): Generator<Buffer> {
  let held: Buffer[] = [];
  let heldMs = 0;
  for (const block of formats[format].blocks(ms)) {
    held.push(block.bytes);
    heldMs += block.ms;
    // A hair less than a piece is a piece: sums of thirds of a millisecond are not exact.
    if (heldMs < pieceMs - 0.001) continue;
    yield Buffer.concat(held);
    held = [];
    heldMs = 0;
  }
  if (held.length > 0) yield Buffer.concat(held);
}

const msPerCharacter = 66;
const msMin = 400;
const msMax = 600_000;

/** About as long as someone would speak it. */
export function speechMs(characters: number, speed: number): number {
  return Math.min(msMax, Math.max(msMin, Math.round((characters * msPerCharacter) / speed)));
}

const packetMs = 20;
const packetsPerPage = 10;
/** Positions are counted at this rate whatever the sound's own. */
const clockKhz = 48;
const preSkip = 312;

/** Opus in Ogg (RFC 7845): silence of the right length; a tone would want an encoder. */
function* opusBlocks(ms: number): Generator<{ bytes: Buffer; ms: number }> {
  yield { bytes: opusHead, ms: 0 };
  const packets = Math.ceil((ms + preSkip / clockKhz) / packetMs);
  for (let sent = 0, number = 2; sent < packets; number += 1) {
    const count = Math.min(packetsPerPage, packets - sent);
    sent += count;
    // The last position cuts off the end of the last packet.
    const position = sent === packets ? Math.round(preSkip + ms * clockKhz) : sent * packetMs * clockKhz;
    yield { bytes: page(number, position, sent === packets ? 4 : 0, count), ms: count * packetMs };
  }
}

/** `flags`: 4 ends the stream. */
function page(number: number, position: number, flags: number, packets: number): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS', 0, 'latin1');
  head[5] = flags;
  head.writeBigUInt64LE(BigInt(position), 6);
  head.write('SIMU', 14, 'latin1');
  head.writeUInt32LE(number, 18);
  head[26] = packets;
  const whole = Buffer.concat([head, Buffer.alloc(packets, opusPacket.length), ...Array(packets).fill(opusPacket)]);
  whole.writeUInt32LE(cyclicSum(whole, { polynomial: 0x04c11db7, bits: 32 }), 22);
  return whole;
}
