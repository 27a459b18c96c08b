import { createBitWriter } from './bit-writer.ts';
import type { SoundBlock } from './sound.ts';
import { sampleRateHz } from './sound-pcm.ts';

const frameSamples = 1_024;
const frameMs = (frameSamples * 1_000) / sampleRateHz;
const headerBytes = 7;
/** One channel without a single band, and the end of the block: 29 zero bits and three ones. */
const silence = [0x00, 0x00, 0x00, 0x07] as const;

const frame = silentFrame();

/** AAC-LC in ADTS (ISO 13818-7): silence of the right length; a tone would want an encoder. */
export function* aacBlocks(ms: number): Generator<SoundBlock> {
  const count = Math.ceil(ms / frameMs);
  for (let at = 0; at < count; at += 1) yield { bytes: frame, ms: frameMs };
}

function silentFrame(): Buffer {
  const writer = createBitWriter();
  writer.put(0xfff1, 16); // sync, MPEG-4, no CRC
  writer.put(1, 2); // LC
  writer.put(6, 4); // 24 kHz
  writer.put(0, 1);
  writer.put(1, 3); // one channel
  writer.put(0, 4);
  writer.put(headerBytes + silence.length, 13);
  writer.put(0x7ff, 11); // variable rate
  writer.put(0, 2); // one block
  for (const byte of silence) writer.put(byte, 8);
  return writer.bytes();
}
