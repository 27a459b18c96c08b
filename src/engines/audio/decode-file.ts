import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { type Duplex, pipeline, type Readable } from 'node:stream';
import { AudioFault } from './audio-fault.ts';
import { decodeArguments, durationArguments } from './ffmpeg-arguments.ts';
import { flacDurationMs } from './flac-duration.ts';
import type { SlotLimits } from './process-slots.ts';
import type { StreamBounds } from './process-stream.ts';
import { sniffAudio, sniffBytesNeeded } from './sniff.ts';
import { adtsFrame, frameHeaderBytes, id3Bytes, mp3Frame } from './sound-frames.ts';
import { readSamples, readWavHeader, type WavHeader, wavDurationMs, wavHeaderBytesMax } from './wav.ts';
import { convertedPieceBytes, plainConversion } from './wav-stream.ts';

export interface TranscoderLimits extends StreamBounds {
  /** Streams and files have separate lines, so that one caller's long file is not before everybody's speech. */
  streams: SlotLimits;
  files: SlotLimits;
  /** Processes that wait for a job. */
  warmMax: number;
  /** A waiting process is ended after this. */
  warmIdleMs: number;
  /** Longest sound that `decodeFile` gives. */
  decodedSecondsMax: number;
}

interface JobOptions {
  signal?: AbortSignal | undefined;
  /** Put before what ffmpeg gives. */
  head?: Buffer | undefined;
  /** After it, keep a process waiting for the next job like it. */
  keepWarm?: 'yes' | 'no';
}

/** How the jobs of this room reach ffmpeg. */
export interface FfmpegJobs {
  readonly limits: TranscoderLimits;
  hasFfmpeg(): boolean;
  /** `need` is the subject of the 501 where ffmpeg is missing. */
  stream(need: string, args: readonly string[], input: 'piped' | 'none', options: JobOptions): Duplex;
}

const floatBytes = 4;

/** See `Transcoder.decodeFile`. */
export async function* decodeFile(
  jobs: FfmpegJobs,
  path: string,
  rateHz: number,
  signal?: AbortSignal,
): AsyncGenerator<Float32Array, void> {
  const secondsMax = jobs.limits.decodedSecondsMax;
  const inProcess = !jobs.hasFfmpeg() && (await wavHeaderOf(path)) !== null;
  const pieces = inProcess
    ? decodeWav(path, rateHz, signal)
    : floats(jobs.stream('Decoding audio', decodeArguments(path, rateHz, secondsMax + 1), 'none', { signal }));
  let samples = 0;
  for await (const piece of pieces) {
    samples += piece.length;
    if (samples > secondsMax * rateHz)
      throw new AudioFault('too-long', `is longer than ${Math.round(secondsMax / 60)} minutes`);
    yield piece;
  }
  if (samples === 0) throw new AudioFault('unreadable', 'has no audio in it');
}

/** Bytes may be cut anywhere, floats may not. */
async function* floats(stream: Readable): AsyncGenerator<Float32Array, void> {
  let partial: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    const all = partial.length === 0 ? (chunk as Buffer) : Buffer.concat([partial, chunk as Buffer]);
    const whole = all.length - (all.length % floatBytes);
    partial = all.subarray(whole);
    if (whole === 0) continue;
    // A copy: floats must begin at multiples of four, a Buffer begins anywhere.
    const aligned = new Uint8Array(whole);
    aligned.set(all.subarray(0, whole));
    yield new Float32Array(aligned.buffer);
  }
}

/** Without ffmpeg, wav still works. */
async function* decodeWav(path: string, rateHz: number, signal?: AbortSignal): AsyncGenerator<Float32Array, void> {
  const pcm = plainConversion('wav', { format: 'pcm', rateHz });
  // An error of either is thrown into the loop by the last.
  const file = createReadStream(path, { highWaterMark: convertedPieceBytes, ...(signal && { signal }) });
  pipeline(file, pcm, () => {});
  for await (const chunk of pcm) yield readSamples(chunk as Buffer, { encoding: 's16', channels: 1 });
}

/** See `Transcoder.probeDurationMs`. */
export async function probeDurationMs(jobs: FfmpegJobs, path: string, signal?: AbortSignal): Promise<number> {
  const wav = await wavHeaderOf(path);
  if (wav !== null) return wavDurationMs(wav.header, wav.fileBytes);
  const durationMs = jobs.hasFfmpeg() ? null : await probedDurationMs(path, signal);
  if (durationMs !== null) return durationMs;
  let text = '';
  const progress = jobs.stream('Reading how long this audio is', durationArguments(path), 'none', { signal });
  // Only its end matters. It reports progress every half second.
  for await (const chunk of progress) text = (text + String(chunk)).slice(-progressTextMax);
  const microseconds = Number(
    text
      .match(/out_time_us=(\d+)/g)
      ?.at(-1)
      ?.slice('out_time_us='.length),
  );
  if (!(microseconds > 0)) throw new AudioFault('unreadable', 'has no audio in it');
  return microseconds / 1000;
}

const progressTextMax = 4096;

async function wavHeaderOf(path: string): Promise<{ header: WavHeader; fileBytes: number } | null> {
  const file = await open(path, 'r');
  try {
    const first = await file.read(Buffer.alloc(wavHeaderBytesMax), 0, wavHeaderBytesMax, 0);
    const header = readWavHeader(first.buffer.subarray(0, first.bytesRead));
    return header === null || header === 'more' ? null : { header, fileBytes: (await file.stat()).size };
  } finally {
    await file.close();
  }
}

/**
 * Ms of audio in an mp3, aac (ADTS) or flac file, without ffmpeg: counted from its frames, because a header may lie.
 * Null for other files, and for those without a frame.
 */
async function probedDurationMs(path: string, signal?: AbortSignal): Promise<number | null> {
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

/** Goes from frame to frame. Skips other bytes, up to a frame that another frame follows. */
async function framesMs(path: string, frameAt: typeof mp3Frame, signal?: AbortSignal): Promise<number | null> {
  let ms = 0;
  let rest: Buffer = Buffer.alloc(0);
  /** Bytes of a frame or a tag beyond the part that was read. */
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
