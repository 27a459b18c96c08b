import { cyclicSum } from '../../engines/audio/cyclic-sum.ts';
import { opusHead, opusPacket } from './sound-assets.ts';

const packetMs = 20;
const packetsPerPage = 10;
/** Positions are counted at this rate whatever the sound's own. */
const clockKhz = 48;
const preSkip = 312;

/** Opus in Ogg (RFC 7845): silence of the right length; a tone would want an encoder. */
export function* opusBlocks(ms: number): Generator<{ bytes: Buffer; ms: number }> {
  yield { bytes: opusHead, ms: 0 };
  const packets = Math.ceil((ms + preSkip / clockKhz) / packetMs);
  for (let sent = 0, number = 2; sent < packets; number += 1) {
    const count = Math.min(packetsPerPage, packets - sent);
    sent += count;
    // The last position cuts off the end of the last packet.
    const position = sent === packets ? Math.round(preSkip + ms * clockKhz) : sent * packetMs * clockKhz;
    yield { bytes: page(number, position, sent === packets ? 4 : 0, count), ms: count * packetMs };
  }
}

/** `flags`: 4 ends the stream. */
function page(number: number, position: number, flags: number, packets: number): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS', 0, 'latin1');
  head[5] = flags;
  head.writeBigUInt64LE(BigInt(position), 6);
  head.write('SIMU', 14, 'latin1');
  head.writeUInt32LE(number, 18);
  head[26] = packets;
  const whole = Buffer.concat([head, Buffer.alloc(packets, opusPacket.length), ...Array(packets).fill(opusPacket)]);
  whole.writeUInt32LE(cyclicSum(whole, { polynomial: 0x04c11db7, bits: 32 }), 22);
  return whole;
}
