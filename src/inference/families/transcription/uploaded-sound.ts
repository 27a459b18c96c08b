import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import type { Conversion } from '../../../engines/audio/ffmpeg-arguments.ts';
import type { Sniffed } from '../../../engines/audio/sniff.ts';
import type { Transcoder } from '../../../engines/audio/transcode.ts';
import { wavHeader } from '../../../engines/audio/wav.ts';
import { convertedPieceBytes } from '../../../engines/audio/wav-stream.ts';
import type { SpooledFile } from '../../../net/spool.ts';
import type { SendableFile } from '../../spine/upload-body.ts';

/** Formats for targets that do not accept the file as it is. */
export type SentAs = 'wav' | 'flac' | 'mp3';

/** Sample rate of speech models. */
const rateHz = 16_000;

/** A caller's audio on disk, unchanged and in the forms that upstreams want, while its request runs. */
export type UploadedSound = ReturnType<typeof createUploadedSound>;

export interface SoundToSend extends SendableFile {
  extension: string;
  mime: string;
}

type SoundParts = { transcoder: Transcoder };

export function createUploadedSound(parts: SoundParts, file: SpooledFile, sniffed: Sniffed) {
  const { transcoder } = parts;
  const made = new Map<SentAs, Promise<SoundToSend>>();
  const files: SpooledFile[] = [];
  const ending = new AbortController();
  let duration: Promise<number | null> | null = null;

  async function make(format: SentAs): Promise<SoundToSend> {
    const converted = await file.beside();
    files.push(converted);
    const source = conversionStream(transcoder, { path: file.path, sniffed }, format, ending.signal);
    await converted.fill(source);
    if (format !== 'wav') return { ...typeOf[format], bytes: converted.bytes, read: () => converted.read() };
    // Only now is its length known, which some readers trust.
    const header = wavHeader({ rateHz, channels: 1 }, converted.bytes);
    return {
      ...typeOf.wav,
      bytes: header.length + converted.bytes,
      async *read() {
        yield header;
        yield* converted.read();
      },
    };
  }

  return {
    path: file.path,
    bytes: file.bytes,
    sniffed,
    /** Made once, however many upstreams want it. Rejects with an AudioFault or a FailureError. */
    as(format: SentAs | null): Promise<SoundToSend> {
      if (format === null) return Promise.resolve({ ...sniffed, bytes: file.bytes, read: () => file.read() });
      let making = made.get(format);
      if (making === undefined) {
        making = make(format);
        // Trouble of our machine passes: the next target may find it gone.
        making.catch(() => made.delete(format));
        made.set(format, making);
      }
      return making;
    },
    /** Ms; null when it cannot be found out. Never rejects. */
    durationMs(): Promise<number | null> {
      duration ??= transcoder.probeDurationMs(file.path, ending.signal).catch(() => null);
      return duration;
    },
    /** Ends running conversions, which then reject; no more can start. */
    stop: (): void => ending.abort(),
    /** The same, and removes the converted files. */
    async release(): Promise<void> {
      ending.abort();
      await Promise.allSettled([...made.values(), duration]);
      await Promise.all(files.map((one) => one.remove()));
    },
  };
}

/** The kind of a conversion, to check beforehand whether it is possible. */
export function conversionTo(format: SentAs, { container }: Sniffed): Conversion {
  const to = format === 'wav' ? 'pcm' : format;
  return { from: { format: container === 'wav' ? 'wav' : 'any' }, to: { format: to, rateHz } };
}

/** Plain wav needs no ffmpeg. */
function conversionStream(
  transcoder: Transcoder,
  { path, sniffed }: { path: string; sniffed: Sniffed },
  format: SentAs,
  signal: AbortSignal,
) {
  const conversion = conversionTo(format, sniffed);
  if (conversion.from.format !== 'wav' || conversion.to.format !== 'pcm') {
    return transcoder.transcodeFile(path, { to: conversion.to }, signal);
  }
  const stream = transcoder.transcode(conversion, signal);
  // The stream that is read reports an error of either.
  pipeline(createReadStream(path, { highWaterMark: convertedPieceBytes }), stream, () => {});
  return stream;
}

const typeOf: Readonly<Record<SentAs, { extension: string; mime: string }>> = {
  wav: { extension: 'wav', mime: 'audio/wav' },
  flac: { extension: 'flac', mime: 'audio/flac' },
  mp3: { extension: 'mp3', mime: 'audio/mpeg' },
};
