import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { missingTool, pitchHzOf, probeBytes, tonePcm } from '../../../test/sound.ts';
import { FailureError } from '../../kernel/failure.ts';
import { AudioFault } from './audio-fault.ts';
import { decodeArguments, durationArguments } from './ffmpeg-arguments.ts';
import { createFlacWriter } from './flac.ts';
import { createTranscoder, type TranscoderOptions } from './transcode.ts';
import { wavHeader } from './wav.ts';

const skip = missingTool('ffmpeg', 'ffprobe');
const toneMs = 2_000;

function room(t: TestContext, options: Partial<TranscoderOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-audio-'));
  const shared = createTranscoder({ searchPath: process.env.PATH ?? '', ...options });
  const transcoder = { ...shared, ...shared.of('a') };
  t.after(async () => {
    await transcoder.close();
    rmSync(folder, { recursive: true });
  });
  const write = (name: string, bytes: Buffer) => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  /** A tone as ffmpeg's own muxers write it. */
  const recorded = (name: string, ...output: string[]) => {
    const path = join(folder, name);
    const input = ['-v', 'error', '-y', '-f', 's16le', '-ar', '24000', '-ac', '1', '-i', 'pipe:0'];
    const { status, stderr } = spawnSync('ffmpeg', [...input, ...output, path], { input: tonePcm(toneMs) });
    assert.equal(status, 0, String(stderr));
    return path;
  };
  const decode = async (path: string) => {
    const pieces: Float32Array[] = [];
    for await (const piece of transcoder.decodeFile(path, { rateHz: 16_000 })) pieces.push(piece);
    return Float32Array.from(pieces.flatMap((piece) => [...piece]));
  };
  return { transcoder, write, recorded, decode };
}

function unreadable(message: RegExp) {
  return (error: unknown) =>
    error instanceof AudioFault &&
    error.reason === 'unreadable' &&
    message.test(error.message) &&
    // Callers learn nothing of this machine.
    !error.message.includes('/');
}

for (const extension of ['mp3', 'mp4', 'm4a', 'mov', 'wav', 'webm', 'ogg', 'flac', 'aac', 'aiff', 'wma', 'mkv'])
  test(`a .${extension} is decoded to 16 kHz mono, and its length is known`, { skip }, async (t) => {
    const { transcoder, recorded, decode } = room(t);
    const path = recorded(`tone.${extension}`);
    const samples = await decode(path);
    assert.ok(Math.abs(samples.length / 16 - toneMs) <= 130, `${samples.length / 16} ms`);
    assert.ok(Math.abs(pitchHzOf(samples.subarray(3_200, -3_200), 16_000) - 440) <= 3);
    assert.ok(Math.abs((await transcoder.probeDurationMs(path)) - toneMs) <= 130);
  });

test('the name of a file says nothing: flac called .mp3 is decoded', { skip }, async (t) => {
  const { recorded, decode } = room(t);
  const samples = await decode(recorded('wrong.mp3', '-f', 'flac'));
  assert.equal(samples.length, toneMs * 16);
});

test('a name that looks like an option or an address is a name', { skip }, async (t) => {
  const { recorded, decode, write } = room(t);
  const tone = recorded('tone.flac');
  for (const name of ['-i', 'http:x', 'a%03d.flac', 'concat:a|b'])
    assert.equal((await decode(write(name, readFileSync(tone)))).length, toneMs * 16, name);
  // Wherever it lies: also where the path itself begins so.
  for (const args of [decodeArguments('-i', 16_000, 1), durationArguments('http://x')])
    assert.match(args[args.indexOf('-i') + 1] ?? '', /^file:/);
});

test('of a film only the sound is decoded', { skip }, async (t) => {
  const { decode, recorded } = room(t);
  const path = recorded('film.mkv', '-f', 'lavfi', '-i', 'testsrc=d=2:s=64x64', '-map', '1:v', '-map', '0:a');
  assert.ok(Math.abs((await decode(path)).length / 16 - toneMs) <= 130);
});

test('a playlist cannot make us read another file', { skip }, async (t) => {
  const { recorded, decode, write, transcoder } = room(t);
  const other = recorded('secret.mp3');
  const lists = [
    `#EXTM3U\n#EXTINF:10,\nfile://${other}\n#EXT-X-ENDLIST\n`,
    `ffconcat version 1.0\nfile '${other}'\n`,
    // A name without a path is what ffmpeg itself would take for safe.
    'ffconcat version 1.0\nfile secret.mp3\n',
    `<?xml version="1.0"?><MPD><Period><AdaptationSet><BaseURL>file://${other}</BaseURL></AdaptationSet></Period></MPD>`,
  ];
  for (const list of lists) {
    const path = write('list.m3u8', Buffer.from(list));
    await assert.rejects(decode(path), unreadable(/./));
    await assert.rejects(transcoder.probeDurationMs(path), unreadable(/./));
  }
});

test('what cannot be decoded is unreadable, and it is said why', { skip }, async (t) => {
  const { decode, write, recorded, transcoder } = room(t);
  const cutMp4 = write('cut.mp4', readFileSync(recorded('tone.mp4')).subarray(0, 4_000));
  const silentFilm = recorded('film.mp4', '-f', 'lavfi', '-i', 'testsrc=d=1:s=64x64', '-map', '1:v', '-shortest');
  for (const [path, message] of [
    [write('empty.mp3', Buffer.alloc(0)), /not audio/],
    [write('text.mp3', Buffer.from('not a sound')), /not audio/],
    [cutMp4, /cut off/],
    [silentFilm, /no audio track/],
  ] as const) {
    await assert.rejects(decode(path), unreadable(message));
    await assert.rejects(transcoder.probeDurationMs(path), unreadable(message));
  }
});

test('a file that was cut is as long as what is left of it, not as its header says', { skip }, async (t) => {
  const { recorded, write, transcoder } = room(t);
  // Its first frame (Xing) says how many should follow.
  const whole = readFileSync(recorded('tone.mp3'));
  const ms = await transcoder.probeDurationMs(write('half.mp3', whole.subarray(0, whole.length / 2)));
  assert.ok(ms > toneMs * 0.4 && ms < toneMs * 0.6, `${ms} ms`);
});

test('sound that is longer than what we decode is too-long, however small its file is', { skip }, async (t) => {
  const { transcoder, recorded, decode } = room(t, { decodedSecondsMax: 1 });
  const bomb = recorded('silence.flac', '-af', 'volume=0,apad=pad_dur=600');
  await assert.rejects(decode(bomb), (error) => (error as AudioFault).reason === 'too-long');
  // Its length can still be told, so that it can be refused before.
  assert.ok(Math.abs((await transcoder.probeDurationMs(bomb)) - 602_000) < 500);
});

for (const [name, ...output] of [
  ['tone.mp3'],
  ['variable.mp3', '-q:a', '4', '-ar', '44100', '-ac', '2'],
  ['slow.mp3', '-ar', '8000', '-b:a', '8k'],
  ['layer.mp2', '-ar', '48000'],
  ['tone.aac'],
  ['stereo.aac', '-ar', '44100', '-ac', '2'],
  ['tone.flac'],
  ['stereo.flac', '-ar', '44100', '-ac', '2', '-compression_level', '12'],
  ['large.flac', '-ar', '96000', '-sample_fmt', 's32', '-frame_size', '16000'],
] as const)
  test(`fault 58: the length of ${name} is known without ffmpeg, and that of half of it`, { skip }, async (t) => {
    const { recorded, write } = room(t);
    const { transcoder } = room(t, { searchPath: '/nonexistent' });
    const path = recorded(name, ...output, '-metadata', 'title=A tone');
    const known = await transcoder.probeDurationMs(path);
    // What encoders put before the sound is frames too: of 72 ms each at 8 kHz.
    assert.ok(Math.abs(known - toneMs) <= 250, `${known} ms`);
    const whole = readFileSync(path);
    const half = await transcoder.probeDurationMs(write('half', whole.subarray(0, whole.length / 2)));
    assert.ok(half > 100 && half < toneMs * 0.85, `${half} ms of half`);
  });

test('fault 58: without ffmpeg a flac that was streamed has its length too, and a long mp3 over many reads', {
  skip,
}, async (t) => {
  const { recorded, write } = room(t);
  const { transcoder } = room(t, { searchPath: '/nonexistent' });
  const flac = createFlacWriter(16_000);
  const samples = new Int16Array(16_000 * 3 + 5).map((_, at) => (at * 7_919) % 3_000);
  const streamed = Buffer.concat([flac.head, flac.push(samples), flac.end()]);
  assert.equal(await transcoder.probeDurationMs(write('streamed.flac', streamed)), (samples.length * 1_000) / 16_000);
  // One frame alone, at once behind the head.
  const brief = Buffer.concat([flac.head, createFlacWriter(16_000).push(samples.subarray(0, 4_096))]);
  assert.equal(await transcoder.probeDurationMs(write('brief.flac', brief)), 256);
  const long = recorded('long.mp3', '-af', 'apad=pad_dur=118', '-b:a', '64k');
  assert.ok(Math.abs((await transcoder.probeDurationMs(long)) - 120_000) <= 130);
  // A tag in the middle, and bytes that mean nothing, are not audio.
  const two = Buffer.concat([readFileSync(long), Buffer.alloc(5_000, 0xfe), readFileSync(long)]);
  assert.ok(Math.abs((await transcoder.probeDurationMs(write('two.mp3', two))) - 240_000) <= 260);
});

test('who stops listening in the middle ends the decoding', { skip }, async (t) => {
  const { transcoder, recorded } = room(t);
  const path = recorded('long.flac', '-af', 'apad=pad_dur=300');
  for await (const piece of transcoder.decodeFile(path, { rateHz: 16_000 })) {
    assert.ok(piece.length > 0);
    break;
  }
  const caller = new AbortController();
  await assert.rejects(async () => {
    for await (const piece of transcoder.decodeFile(path, { rateHz: 16_000, signal: caller.signal }))
      if (piece.length > 0) caller.abort();
  });
});

test('a file becomes a container that a provider takes', { skip }, async (t) => {
  const { transcoder, recorded } = room(t);
  const path = recorded('tone.webm');
  for (const to of ['flac', 'wav', 'mp3'] as const) {
    const probed = probeBytes(await buffer(transcoder.transcodeFile(path, { to: { format: to, rateHz: 16_000 } })));
    assert.deepEqual([probed.codec, probed.rateHz], [to === 'wav' ? 'pcm_s16le' : to, 16_000]);
    assert.ok(Math.abs(probed.durationMs - toneMs) <= 150, `${probed.durationMs} ms`);
  }
});

test('fault 58: without ffmpeg a wav file is decoded and measured all the same, another is refused with 501', async (t) => {
  const { transcoder, write, decode } = room(t, { searchPath: '/nonexistent' });
  const sound = tonePcm(toneMs, { rateHz: 48_000 });
  const wav = write('tone.wav', Buffer.concat([wavHeader({ rateHz: 48_000, channels: 1 }, sound.length), sound]));
  const samples = await decode(wav);
  assert.equal(samples.length, toneMs * 16);
  assert.ok(Math.abs(pitchHzOf(samples, 16_000) - 440) <= 2);
  assert.equal(await transcoder.probeDurationMs(wav), toneMs);
  const mp3 = write('tone.mp3', Buffer.from('ID3'));
  await assert.rejects(decode(mp3), (error) => {
    assert.ok(error instanceof FailureError && error.failure.kind === 'unsupported');
    assert.match(error.failure.message, /apt install ffmpeg/);
    return true;
  });
});
