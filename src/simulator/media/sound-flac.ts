import { sumOf } from './cyclic-sum.ts';
import type { SoundBlock } from './sound-pcm.ts';
import { sampleRateHz, samplesIn, toneSamples } from './sound-pcm.ts';

const blockSamples = 4_096;

/** RFC 9639: plain samples in frames with checksums. */
export function* flacBlocks(ms: number): Generator<SoundBlock> {
  const samples = samplesIn(ms);
  yield { bytes: streamInfo(samples), ms: 0 };
  for (let start = 0, frame = 0; start < samples; start += blockSamples, frame += 1) {
    const block = toneSamples(start, Math.min(blockSamples, samples - start));
    yield { bytes: frameOf(frame, block), ms: (block.length * 1_000) / sampleRateHz };
  }
}

/** `fLaC` and STREAMINFO: blocks of 4,096 samples, 24 kHz, one channel, 16 bits; frame sizes and MD5 are not given. */
const head = Buffer.from('664c6143800000221000100000000000000005dc00f0', 'hex');
/** Behind it, 32 of the 36 bits that count samples, and the MD5. */
const headBytes = 42;

function streamInfo(samples: number): Buffer {
  const info = Buffer.alloc(headBytes);
  head.copy(info);
  info.writeUInt32BE(Math.min(samples, 0xffff_ffff), 22);
  return info;
}

function frameOf(number: number, samples: Int16Array): Buffer {
  const head = Buffer.from([0xff, 0xf8, 0x77, 0x08, ...asUtf8(number), 0, 0, 0]);
  head.writeUInt16BE(samples.length - 1, head.length - 3);
  head[head.length - 1] = sumOf(head.subarray(0, -1), { polynomial: 0x07, bits: 8 });
  const frame = Buffer.alloc(head.length + 1 + samples.length * 2 + 2);
  head.copy(frame);
  frame[head.length] = 0x02; // verbatim
  for (const [at, sample] of samples.entries()) frame.writeInt16BE(sample, head.length + 1 + at * 2);
  const sum = sumOf(frame.subarray(0, -2), { polynomial: 0x8005, bits: 16 });
  frame.writeUInt16BE(sum, frame.length - 2);
  return frame;
}

/** Frame numbers are written as code points are; 65,536 of them hold three hours. */
function asUtf8(number: number): number[] {
  if (number < 0x80) return [number];
  if (number < 0x800) return [0xc0 | (number >> 6), 0x80 | (number & 0x3f)];
  return [0xe0 | (number >> 12), 0x80 | ((number >> 6) & 0x3f), 0x80 | (number & 0x3f)];
}
