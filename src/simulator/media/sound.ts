import { createFlacWriter, flacBlockSamples } from '../../engines/audio/flac.ts';
import { wavHeader } from '../../engines/audio/wav.ts';
import { aacFrame, mp3Frames } from './sound-assets.ts';
import { opusBlocks } from './sound-opus.ts';

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
