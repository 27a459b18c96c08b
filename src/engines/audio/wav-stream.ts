import { Transform } from 'node:stream';
import { AudioFault } from './audio-fault.ts';
import { createFlacWriter } from './flac.ts';
import { createResampler } from './resample.ts';
import { readSamples, readWavHeader, sampleBytes, toS16le, type WavHeader, wavHeader } from './wav.ts';

/**
 * Bytes of a file that are converted in one turn: a telephone's recording becomes four times as large, and everybody
 * waits meanwhile (12 ms; for the usual 64 KB, 68 ms).
 */
export const convertedPieceBytes = 16 * 1024;

/** Written without ffmpeg, with one channel and 16 bits. */
export type PlainFormat = 'pcm' | 'wav' | 'flac';

/**
 * A conversion that needs no ffmpeg: a wav file of any rate, channels and sample size, or s16le of one channel, becomes
 * one of the plain formats at another rate.
 */
export function plainConversion(
  from: 'wav' | { rateHz: number },
  to: { format: PlainFormat; rateHz: number },
): Transform {
  let pending: Buffer = Buffer.alloc(0);
  let leftBytes = Number.POSITIVE_INFINITY;
  let converter: SampleConverter | null = null;
  const sink = sinkOf(to.format, to.rateHz);

  const begin = (stream: Transform, format: SampleFormat) => {
    converter = sampleConverter(format, to.rateHz);
    stream.push(sink.head);
  };
  /** The samples at hand once the header is known; null before. */
  const afterHeader = (stream: Transform, chunk: Buffer): Buffer | null => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const header = readWavHeader(pending);
    if (header === 'more') return null;
    if (header === null) throw new AudioFault('unreadable', 'is not a WAV file of plain samples');
    leftBytes = header.dataBytes ?? leftBytes;
    begin(stream, header);
    const rest = pending.subarray(header.dataOffsetBytes);
    pending = Buffer.alloc(0);
    return rest;
  };
  return new Transform({
    construct(done) {
      if (from !== 'wav') begin(this, { encoding: 's16', channels: 1, rateHz: from.rateHz });
      done();
    },
    transform(chunk: Buffer, _encoding, done) {
      try {
        const bytes = converter === null ? afterHeader(this, chunk) : chunk;
        if (bytes === null || converter === null) return done();
        // Bytes after the samples are not audio.
        const sound = bytes.length > leftBytes ? bytes.subarray(0, leftBytes) : bytes;
        leftBytes -= sound.length;
        done(null, sink.push(converter.convert(sound)));
      } catch (error) {
        done(error as Error);
      }
    },
    flush(done) {
      if (converter === null) return done(new AudioFault('unreadable', 'is cut off before its first sample'));
      this.push(sink.push(converter.end()));
      done(null, sink.end());
    },
  });
}

/** Writes s16le samples, cut anywhere, as a file of its format. */
interface Sink {
  head: Buffer;
  push(bytes: Buffer): Buffer;
  end(): Buffer;
}

function sinkOf(format: PlainFormat, rateHz: number): Sink {
  if (format === 'flac') return flacSink(rateHz);
  const head = format === 'wav' ? wavHeader({ rateHz, channels: 1 }, null) : Buffer.alloc(0);
  return { head, push: (bytes) => bytes, end: () => Buffer.alloc(0) };
}

function flacSink(rateHz: number): Sink {
  const writer = createFlacWriter(rateHz);
  let partial: Buffer = Buffer.alloc(0);
  return {
    head: writer.head,
    push(bytes) {
      const all = partial.length === 0 ? bytes : Buffer.concat([partial, bytes]);
      const samples = new Int16Array(all.length >> 1);
      for (let i = 0; i < samples.length; i += 1) samples[i] = all.readInt16LE(i * 2);
      partial = Buffer.from(all.subarray(samples.length * 2));
      return writer.push(samples);
    },
    end: () => writer.end(),
  };
}

type SampleFormat = Pick<WavHeader, 'encoding' | 'channels' | 'rateHz'>;

interface SampleConverter {
  convert(bytes: Buffer): Buffer;
  end(): Buffer;
}

function sampleConverter(from: SampleFormat, toRateHz: number): SampleConverter {
  const isSame = from.encoding === 's16' && from.channels === 1 && from.rateHz === toRateHz;
  if (isSame) return { convert: (bytes) => bytes, end: () => Buffer.alloc(0) };
  const frameBytes = sampleBytes[from.encoding] * from.channels;
  const resampler = createResampler(from.rateHz, toRateHz);
  // A chunk may end inside a frame.
  let partial: Buffer = Buffer.alloc(0);
  return {
    convert(bytes) {
      const all = partial.length === 0 ? bytes : Buffer.concat([partial, bytes]);
      const whole = all.length - (all.length % frameBytes);
      partial = Buffer.from(all.subarray(whole));
      return toS16le(resampler.push(readSamples(all.subarray(0, whole), from)));
    },
    end: () => toS16le(resampler.end()),
  };
}
