import { sumOf } from './cyclic-sum.ts';
import type { SoundBlock } from './sound-pcm.ts';

const packetMs = 20;
const packetsPerPage = 10;
/** Positions are counted at this rate whatever the sound's own. */
const clockKhz = 48;
const preSkip = 312;
/** 20 ms of one channel in which nothing sounds. */
const silence = [0xf8, 0xff, 0xfe] as const;

/** Opus in Ogg (RFC 7845): silence of the right length; a tone would want an encoder. */
export function* opusBlocks(ms: number): Generator<SoundBlock> {
  const head = Buffer.alloc(19);
  head.write('OpusHead', 0, 'latin1');
  head[8] = 1;
  head[9] = 1;
  head.writeUInt16LE(preSkip, 10);
  head.writeUInt32LE(24_000, 12);
  const tags = Buffer.from('OpusTags\x09\0\0\0simulated\0\0\0\0', 'latin1');
  yield { bytes: page(0, 0, 2, [head]), ms: 0 };
  yield { bytes: page(1, 0, 0, [tags]), ms: 0 };
  const packets = Math.ceil((ms + preSkip / clockKhz) / packetMs);
  for (let sent = 0, number = 2; sent < packets; number += 1) {
    const count = Math.min(packetsPerPage, packets - sent);
    sent += count;
    const isLast = sent === packets;
    // The position cuts off the end of the last packet.
    const position = isLast ? Math.round(preSkip + ms * clockKhz) : sent * packetMs * clockKhz;
    const bodies = Array.from({ length: count }, () => Buffer.from(silence));
    yield { bytes: page(number, position, isLast ? 4 : 0, bodies), ms: count * packetMs };
  }
}

/** `flags`: 2 begins the stream, 4 ends it. Packets are shorter than 255 bytes. */
function page(number: number, position: number, flags: number, packets: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS', 0, 'latin1');
  head[5] = flags;
  head.writeBigUInt64LE(BigInt(position), 6);
  head.write('SIMU', 14, 'latin1');
  head.writeUInt32LE(number, 18);
  head[26] = packets.length;
  const whole = Buffer.concat([head, Buffer.from(packets.map(({ length }) => length)), ...packets]);
  whole.writeUInt32LE(sumOf(whole, { polynomial: 0x04c11db7, bits: 32 }), 22);
  return whole;
}
