import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adtsFrame, id3Bytes, mp3Frame } from './sound-frames.ts';

/* Heads of frames as ISO/IEC 11172-3, 13818-3 and 13818-7 have them. */

/** `version`: 3 of MPEG 1, 2 of MPEG 2, 0 of MPEG 2.5. */
function mpegHead({ version = 3, layer = 3, bitrate = 9, rate = 0, padding = 0 }): Buffer {
  return Buffer.from([
    0xff,
    0xe0 | (version << 3) | ((4 - layer) << 1) | 1,
    (bitrate << 4) | (rate << 2) | (padding << 1),
    0,
  ]);
}

const kbits = [
  [3, 1, '32 64 96 128 160 192 224 256 288 320 352 384 416 448'],
  [3, 2, '32 48 56 64 80 96 112 128 160 192 224 256 320 384'],
  [3, 3, '32 40 48 56 64 80 96 112 128 160 192 224 256 320'],
  [2, 1, '32 48 56 64 80 96 112 128 144 160 176 192 224 256'],
  [2, 2, '8 16 24 32 40 48 56 64 80 96 112 128 144 160'],
  [2, 3, '8 16 24 32 40 48 56 64 80 96 112 128 144 160'],
  [0, 3, '8 16 24 32 40 48 56 64 80 96 112 128 144 160'],
] as const;

for (const [version, layer, rates] of kbits) {
  test(`a frame of MPEG ${version === 3 ? '1' : version === 2 ? '2' : '2.5'}, layer ${layer}, has as many bytes as its bitrate says`, () => {
    const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1_152;
    const [first, halved] = [[44_100, 48_000, 32_000], version === 3 ? 1 : version === 2 ? 2 : 4];
    for (const [at, kbit] of rates.split(' ').map(Number).entries())
      for (const [rate, hz] of first.entries())
        for (const padding of [0, 1]) {
          const rateHz = hz / halved;
          const slots = Math.floor((samples * kbit * 1_000) / (8 * rateHz) / (layer === 1 ? 4 : 1));
          const bytes = (slots + padding) * (layer === 1 ? 4 : 1);
          const head = mpegHead({ version, layer, bitrate: at + 1, rate, padding });
          assert.deepEqual(mp3Frame(head, 0), { bytes, samples, rateHz }, `${kbit} kbit/s, ${rateHz} Hz`);
        }
  });
}

test('what is no head of an MPEG frame is none', () => {
  const head = mpegHead({});
  assert.deepEqual(mp3Frame(Buffer.concat([Buffer.from([0]), head]), 1), mp3Frame(head, 0));
  assert.equal(mp3Frame(head, 1), null, 'cut');
  for (const wrong of [{ version: 1 }, { layer: 4 }, { bitrate: 0 }, { bitrate: 15 }, { rate: 3 }])
    assert.equal(mp3Frame(mpegHead(wrong), 0), null, JSON.stringify(wrong));
  assert.equal(mp3Frame(Buffer.from([0xfe, 0xfb, 0x90, 0]), 0), null);
  assert.equal(mp3Frame(Buffer.from([0xff, 0x1b, 0x90, 0]), 0), null);
});

function adtsHead({ rate = 4, bytes = 371, blocks = 0, layer = 0 } = {}): Buffer {
  const head = Buffer.from([0xff, 0xf1 | (layer << 1), (1 << 6) | (rate << 2), 0x80, 0, 0x1f, 0xfc | blocks]);
  head.writeUIntBE(head.readUIntBE(3, 3) | (bytes << 5), 3, 3);
  return head;
}

test('a frame of AAC has its length, its rate and its blocks of 1,024 samples', () => {
  const ratesHz = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
  ];
  for (const [rate, rateHz] of ratesHz.entries())
    assert.deepEqual(adtsFrame(adtsHead({ rate }), 0), { bytes: 371, samples: 1_024, rateHz });
  assert.deepEqual(adtsFrame(adtsHead({ bytes: 8_191, blocks: 3 }), 0), {
    bytes: 8_191,
    samples: 4_096,
    rateHz: 44_100,
  });
  assert.equal(adtsFrame(adtsHead({ bytes: 7 }), 0)?.bytes, 7);
  for (const wrong of [{ rate: 13 }, { rate: 15 }, { bytes: 6 }, { layer: 1 }])
    assert.equal(adtsFrame(adtsHead(wrong), 0), null, JSON.stringify(wrong));
  assert.equal(adtsFrame(adtsHead(), 1), null, 'cut');
  assert.equal(adtsFrame(adtsHead().subarray(0, 6), 0), null, 'cut');
});

test('an ID3 tag says its length in seven bits a byte', () => {
  const tag = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0x01, 0x02, 0x83, 0x7f]);
  assert.equal(id3Bytes(tag, 0), (1 << 21) | (2 << 14) | (3 << 7) | 127);
  assert.equal(id3Bytes(Buffer.concat([Buffer.alloc(3), tag]), 3), (1 << 21) | (2 << 14) | (3 << 7) | 127);
  assert.equal(id3Bytes(tag.subarray(0, 8), 0), (1 << 21) | (2 << 14));
});
