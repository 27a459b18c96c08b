import { Transform } from 'node:stream';
import { AudioFault } from './audio-fault.ts';
import { createResampler } from './resample.ts';
import { readSamples, readWavHeader, sampleBytes, toS16le, type WavHeader } from './wav.ts';

/**
 * Plain samples in, s16le of one channel at `to.rateHz` out, after `to.head`. What comes in is a wav file of any rate,
 * channels and sample size, or s16le of one channel.
 */
export function plainConversion(
  from: 'wav' | { rateHz: number },
  to: { rateHz: number; head?: Buffer | undefined },
): Transform {
  let pending: Buffer = Buffer.alloc(0);
  let leftBytes = Number.POSITIVE_INFINITY;
  let converter: SampleConverter | null = null;

  const begin = (stream: Transform, format: SampleFormat) => {
    converter = sampleConverter(format, to.rateHz);
    if (to.head !== undefined) stream.push(to.head);
    return converter;
  };
  /** The samples at hand once the header is known; null before. */
  const afterHeader = (stream: Transform, chunk: Buffer): Buffer | null => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const header = readWavHeader(pending);
    if (header === 'more') return null;
    if (header === null) throw new AudioFault('unreadable', 'is not a wav file of plain samples');
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
        // What follows the samples is not sound.
        const sound = bytes.length > leftBytes ? bytes.subarray(0, leftBytes) : bytes;
        leftBytes -= sound.length;
        done(null, converter.convert(sound));
      } catch (error) {
        done(error as Error);
      }
    },
    flush(done) {
      if (converter === null) return done(new AudioFault('unreadable', 'is cut off before its first sample'));
      done(null, converter.end());
    },
  });
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
