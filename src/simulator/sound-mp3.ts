import { createBitWriter } from './bit-writer.ts';
import type { SoundBlock } from './sound.ts';

// MPEG-2 layer III (ISO 13818-3): 24 kHz, mono, 32 kbit/s, which makes frames of whole bytes and whole milliseconds.
const header = [0xff, 0xf3, 0x44, 0xc4] as const;
const frameBytes = 96;
const frameMs = 24;

/**
 * The frequency line that sounds: 573 Hz. Lines 26 and 27 are the only ones between those that decoders fold into each
 * other at the edges of their subband.
 */
const line = 27;
const linesPerPair = 2;
/** 210 is full scale; four less halve it. */
const globalGain = 200;
/** How the line's sign goes on from frame to frame, so that the waves of neighbours meet. */
const signs = [0, 0, 1, 1] as const;

const frames: readonly Buffer[] = signs.map(toneFrame);

export function* mp3Blocks(ms: number): Generator<SoundBlock> {
  const count = Math.ceil(ms / frameMs);
  for (let at = 0; at < count; at += 1) yield { bytes: frames[at % frames.length]!, ms: frameMs };
}

/** One line of value 1, all others 0; every frame stands for itself, so any may be cut off. */
function toneFrame(sign: 0 | 1): Buffer {
  const zeroPairs = Math.floor(line / linesPerPair);
  // Huffman table 1: (0,0) is 1, (0,1) is 001, and a sign after each value that is not 0.
  const lengthBits = zeroPairs + 3 + 1;
  const writer = createBitWriter();
  for (const byte of header) writer.put(byte, 8);
  writer.put(0, 8 + 1); // main_data_begin, private
  writer.put(lengthBits, 12); // part2_3_length
  writer.put(zeroPairs + 1, 9); // big_values
  writer.put(globalGain, 8);
  writer.put(0, 9 + 1); // scalefac_compress, window_switching
  for (let region = 0; region < 3; region += 1) writer.put(1, 5); // table_select
  writer.put(0, 4 + 3 + 1 + 1); // region counts, scalefac_scale, count1table_select
  for (let pair = 0; pair < zeroPairs; pair += 1) writer.put(1, 1);
  writer.put(0b001, 3);
  writer.put(sign, 1);
  return writer.bytes(frameBytes);
}
