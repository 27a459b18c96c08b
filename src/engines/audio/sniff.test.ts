import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { missingTool, tonePcm } from '../../../test/sound.ts';
import { type Container, sniffAudio } from './sniff.ts';
import { wavHeader } from './wav.ts';

const written: readonly [Container, extension: string, ffmpegOutput: readonly string[]][] = [
  ['wav', 'wav', ['-f', 'wav']],
  ['mp3', 'mp3', ['-f', 'mp3']],
  ['mp3', 'mp3', ['-id3v2_version', '0', '-write_xing', '0', '-f', 'mp3']],
  ['ogg', 'ogg', ['-c:a', 'libopus', '-f', 'ogg']],
  ['ogg', 'ogg', ['-c:a', 'libvorbis', '-f', 'ogg']],
  ['webm', 'webm', ['-f', 'webm']],
  ['matroska', 'mkv', ['-f', 'matroska']],
  ['mp4', 'm4a', ['-f', 'ipod', '-movflags', 'frag_keyframe+empty_moov']],
  ['mp4', 'mp4', ['-f', 'mp4', '-movflags', 'frag_keyframe+empty_moov']],
  ['mov', 'mov', ['-f', 'mov', '-movflags', 'frag_keyframe+empty_moov']],
  ['flac', 'flac', ['-f', 'flac']],
  ['aac', 'aac', ['-f', 'adts']],
  ['aiff', 'aiff', ['-f', 'aiff']],
  ['asf', 'wma', ['-f', 'asf']],
];

for (const [container, extension, output] of written)
  test(`what ffmpeg writes by ${output.join(' ')} is known as ${container}`, { skip: missingTool('ffmpeg') }, () => {
    const input = ['-v', 'error', '-f', 's16le', '-ar', '24000', '-ac', '1', '-i', 'pipe:0'];
    const { stdout, stderr } = spawnSync('ffmpeg', [...input, ...output, 'pipe:1'], { input: tonePcm(500) });
    const sniffed = sniffAudio(stdout);
    assert.equal(sniffed?.container, container, String(stderr));
    assert.equal(sniffed.extension, extension);
    assert.match(sniffed.mime, /^(audio|video)\//);
  });

test('what is no sound is not taken for it', () => {
  const others = [
    '',
    '%PDF-1.7',
    '<!doctype html><html>',
    '{"text":"hello"}',
    '#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd',
    'ffconcat version 1.0',
    '\x89PNG\r\n\x1a\n\0\0\0\rIHDR',
    '\xff\xd8\xff\xe0\0\x10JFIF',
    'GIF89a',
    'PK\x03\x04',
    'MZ\x90\0',
    '\x7fELF\x02\x01\x01',
    'RIFF\x10\0\0\0WEBPVP8 ',
    '\0\0\0\x1cftypavif\0\0\0\0',
    '\0\0\0\x1cftypheic\0\0\0\0',
    '\0'.repeat(4_096),
    '\xff'.repeat(4_096),
  ];
  for (const other of others) assert.equal(sniffAudio(Buffer.from(other, 'latin1')), null, JSON.stringify(other));
});

test('one frame of mp3 or aac could be chance: the next must be where it says', () => {
  for (const [frame, length, container] of [
    ['\xff\xfb\x90\x00', 417, 'mp3'],
    ['\xff\xf1\x50\x80\x10\x1f\xfc', 128, 'aac'],
  ] as const) {
    const bytes = Buffer.alloc(2_000, 0x55);
    bytes.write(frame, 0, 'latin1');
    assert.equal(sniffAudio(bytes), null);
    bytes.write(frame, length, 'latin1');
    assert.equal(sniffAudio(bytes)?.container, container);
    // A file of one frame has no next.
    assert.equal(sniffAudio(bytes.subarray(0, length))?.container, container);
  }
});

test('a wav file with no more than its header is still a wav file', () => {
  assert.equal(sniffAudio(wavHeader({ rateHz: 8_000, channels: 2 }, 0))?.container, 'wav');
});

test('any bytes whatever are answered, and chance is seldom taken for sound', () => {
  let taken = 0;
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 6_000, minLength: 64, size: 'max' }), (bytes) => {
      if (sniffAudio(bytes) !== null) taken += 1;
    }),
    { numRuns: 300, seed: 57 },
  );
  assert.ok(taken <= 6, `${taken} of 300`);
});
