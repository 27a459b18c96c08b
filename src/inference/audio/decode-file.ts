import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { AudioFault } from './audio-fault.ts';
import { decodeArguments, durationArguments } from './ffmpeg-arguments.ts';
import { ownDurationMs } from './own-duration.ts';
import type { FfmpegJobs } from './transcode.ts';
import { readSamples, readWavHeader, type WavHeader, wavDurationMs, wavHeaderBytesMax } from './wav.ts';
import { convertedPieceBytes, plainConversion } from './wav-stream.ts';

const floatBytes = 4;

/** See `Transcoder.decodeFile`. */
export async function* decodeFile(
  jobs: FfmpegJobs,
  path: string,
  rateHz: number,
  signal?: AbortSignal,
): AsyncGenerator<Float32Array, void> {
  const secondsMax = jobs.limits.decodedSecondsMax;
  const ownWay = !jobs.hasFfmpeg() && (await wavHeaderOf(path)) !== null;
  const pieces = ownWay
    ? decodeWav(path, rateHz, signal)
    : floats(jobs.stream('Decoding audio', decodeArguments(path, rateHz, secondsMax + 1), 'none', { signal }));
  let samples = 0;
  for await (const piece of pieces) {
    samples += piece.length;
    if (samples > secondsMax * rateHz)
      throw new AudioFault('too-long', `is longer than ${Math.round(secondsMax / 60)} minutes`);
    yield piece;
  }
  if (samples === 0) throw new AudioFault('unreadable', 'has no sound in it');
}

/** Bytes may be cut anywhere, floats may not. */
async function* floats(stream: Readable): AsyncGenerator<Float32Array, void> {
  let partial: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    const all = partial.length === 0 ? (chunk as Buffer) : Buffer.concat([partial, chunk as Buffer]);
    const whole = all.length - (all.length % floatBytes);
    partial = all.subarray(whole);
    if (whole === 0) continue;
    // A copy: floats must stand at multiples of four, a Buffer stands anywhere.
    const aligned = new Uint8Array(whole);
    aligned.set(all.subarray(0, whole));
    yield new Float32Array(aligned.buffer);
  }
}

/** Where there is no ffmpeg, wav still works. */
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
  const own = jobs.hasFfmpeg() ? null : await ownDurationMs(path, signal);
  if (own !== null) return own;
  let text = '';
  const progress = jobs.stream('Reading how long this audio is', durationArguments(path), 'none', { signal });
  // Only its end matters; it says so every half second.
  for await (const chunk of progress) text = (text + String(chunk)).slice(-progressTextMax);
  const microseconds = Number(
    text
      .match(/out_time_us=(\d+)/g)
      ?.at(-1)
      ?.slice('out_time_us='.length),
  );
  if (!(microseconds > 0)) throw new AudioFault('unreadable', 'has no sound in it');
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
