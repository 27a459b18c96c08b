import assert from 'node:assert/strict';
import { type ChildProcess, spawn as nodeSpawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { missingTool, probeBytes, tonePcm } from '../../../test/sound.ts';
import { FailureError } from '../../kernel/failure.ts';
import { AudioFault } from './audio-fault.ts';
import type { SpeechFormat } from './audio-format.ts';
import type { Spawn } from './ffmpeg-process.ts';
import { createTranscoder, type TranscoderOptions } from './transcode.ts';
import { readWavHeader, wavHeader } from './wav.ts';

const skip = missingTool('ffmpeg', 'ffprobe');
const toneMs = 3_000;
const codecs = { mp3: 'mp3', opus: 'opus', flac: 'flac', aac: 'aac', wav: 'pcm_s16le' } as const;

/** A transcoder of one test, and the processes that it started. */
function startTranscoder(t: TestContext, options: Partial<TranscoderOptions> = {}) {
  const children: ChildProcess[] = [];
  const spawn = ((program: string, args: string[], rest: object) => {
    const child = nodeSpawn(program, args, rest);
    children.push(child);
    return child;
  }) as Spawn;
  const shared = createTranscoder({ searchPath: process.env.PATH ?? '', spawn, doubtMs: 60_000, ...options });
  const transcoder = { ...shared, ...shared.of('a') };
  t.after(() => transcoder.close());
  return { transcoder, children };
}

async function convert(stream: Duplex, input: Buffer): Promise<Buffer> {
  stream.end(input);
  return buffer(stream);
}

const speechFormats: readonly SpeechFormat[] = ['mp3', 'opus', 'flac', 'aac', 'wav', 'pcm'];

for (const to of speechFormats)
  test(`pcm becomes ${to} that decodes to the same length`, { skip }, async (t) => {
    const { transcoder } = startTranscoder(t);
    const stream = transcoder.transcode({ from: { format: 'pcm' }, to: { format: to } });
    const bytes = await convert(stream, tonePcm(toneMs));
    if (to === 'pcm') return assert.deepEqual(bytes, tonePcm(toneMs));
    const probed = probeBytes(bytes);
    assert.equal(probed.codec, codecs[to]);
    assert.equal(probed.channels, 1);
    // Opus says 48 kHz whatever it carries.
    assert.equal(probed.rateHz, to === 'opus' ? 48_000 : 24_000);
    // Frames are of whole length and begin with the encoder's delay: two of them may be more.
    assert.ok(Math.abs(probed.durationMs - toneMs) <= toneMs * 0.02 + 100, `${probed.durationMs} ms`);
  });

for (const from of speechFormats.filter((format) => format !== 'pcm'))
  test(`${from} from a provider becomes any other format`, { skip }, async (t) => {
    const { transcoder } = startTranscoder(t);
    const given = await convert(
      transcoder.transcode({ from: { format: 'pcm' }, to: { format: from } }),
      tonePcm(toneMs),
    );
    for (const to of ['mp3', 'wav', 'flac'] satisfies SpeechFormat[]) {
      if (to === from) continue;
      const bytes = await convert(transcoder.transcode({ from: { format: from }, to: { format: to } }), given);
      assert.equal(probeBytes(bytes).codec, codecs[to]);
      assert.ok(Math.abs(probeBytes(bytes).durationMs - toneMs) <= toneMs * 0.02 + 100);
    }
  });

test('the first bytes of mp3 are there before the last of the sound is given', { skip }, async (t) => {
  const { transcoder, children } = startTranscoder(t, { urgentMs: 0 });
  const stream = transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } });
  stream.write(tonePcm(1_000));
  const [first] = (await once(stream, 'data')) as [Buffer];
  assert.ok(first.length > 0);
  // From then on it gives way to serving.
  while (getPriority(children[0]?.pid) < 10) await pause(1);
  stream.end(tonePcm(1_000));
  await once(stream, 'end');
});

test('speech is said faster or slower at the same format', { skip }, async (t) => {
  const { transcoder } = startTranscoder(t);
  for (const tempo of [0.25, 2]) {
    const stream = transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'pcm' }, tempo });
    const { length } = await convert(stream, tonePcm(toneMs));
    assert.ok(Math.abs(length / 48 - toneMs / tempo) < 200, `${length / 48} ms at ${tempo}`);
  }
});

test('the second conversion of a kind takes the process that was kept waiting', { skip }, async (t) => {
  const { transcoder, children } = startTranscoder(t);
  const once = () => convert(transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } }), tonePcm(500));
  const first = await once();
  assert.equal(children.length, 2, 'the one that worked, and the one that waits');
  assert.deepEqual(await once(), first);
  assert.equal(children.length, 3);
  await transcoder.close();
  assert.ok(children.every((child) => child.exitCode !== null || child.signalCode !== null));
});

test('a process that died while it waited is not used', { skip }, async (t) => {
  const { transcoder, children } = startTranscoder(t);
  const run = () => convert(transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } }), tonePcm(500));
  await run();
  const waiting = children[1] as ChildProcess;
  waiting.kill('SIGKILL');
  await once(waiting, 'close');
  assert.ok((await run()).length > 0);
});

test('an idle process is ended after its time', { skip }, async (t) => {
  const { transcoder, children } = startTranscoder(t, { warmIdleMs: 10 });
  await convert(transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } }), tonePcm(500));
  const waiting = children[1] as ChildProcess;
  if (waiting.signalCode === null) await once(waiting, 'close');
  assert.equal(waiting.signalCode, 'SIGKILL');
});

test('bytes that are not audio end the stream with unreadable, never with a clean end', { skip }, async (t) => {
  const { transcoder } = startTranscoder(t);
  for (const junk of [Buffer.from('<html>no audio</html>'), Buffer.alloc(0), Buffer.from('#EXTM3U\nfile:///etc/hosts')])
    await assert.rejects(
      convert(transcoder.transcode({ from: { format: 'any' }, to: { format: 'mp3' } }), junk),
      (error) => error instanceof AudioFault && error.reason === 'unreadable' && !error.message.includes('/'),
    );
});

test('an output over the cap is cut', { skip }, async (t) => {
  const { transcoder } = startTranscoder(t, { outputBytesMax: 2_000 });
  const stream = transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'aac' } });
  await assert.rejects(convert(stream, tonePcm(toneMs)), (error) => (error as AudioFault).reason === 'too-long');
});

test('an aborted request kills its ffmpeg', { skip }, async (t) => {
  const { transcoder, children } = startTranscoder(t);
  const caller = new AbortController();
  const stream = transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } }, caller.signal);
  stream.write(tonePcm(500));
  await once(stream, 'readable');
  const child = children[0] as ChildProcess;
  const gone = once(child, 'close');
  stream.on('error', () => {});
  caller.abort();
  await gone;
  assert.equal(child.signalCode, 'SIGKILL');
});

test('a slow reader holds ffmpeg back, and what waits stays bounded', { skip }, async (t) => {
  const { transcoder } = startTranscoder(t);
  const stream = transcoder.transcode({ from: { format: 'mp3' }, to: { format: 'pcm' } });
  const mp3 = await convert(transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } }), tonePcm(120_000));
  stream.end(mp3);
  await once(stream, 'readable');
  // Turns enough for all of it to come, if it came unasked: 120 s of pcm are 5.8 MB.
  const aMoment = performance.now() + 300;
  while (performance.now() < aMoment && stream.readableLength <= 512 * 1024) await new Promise(setImmediate);
  assert.ok(stream.readableLength <= 512 * 1024, `${stream.readableLength} bytes wait`);
  let bytes = 0;
  for await (const chunk of stream) bytes += (chunk as Buffer).length;
  assert.ok(Math.abs(bytes / 48 - 120_000) < 200);
});

test('fault 57: an ffmpeg that is killed ends the stream with crashed, and the next one works', { skip }, async (t) => {
  const { transcoder, children } = startTranscoder(t);
  const stream = transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } });
  stream.write(tonePcm(500));
  await once(stream, 'readable');
  children[0]?.kill('SIGKILL');
  await assert.rejects(buffer(stream), (error) => (error as AudioFault).reason === 'crashed');
  const again = transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } });
  assert.ok((await convert(again, tonePcm(500))).length > 0);
});

test('fault 57: an ffmpeg that hangs is found by our own timer and killed', { skip }, async (t) => {
  const { transcoder, children } = startTranscoder(t, { stallMs: 50 });
  const stream = transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } });
  const broken = assert.rejects(buffer(stream), (error) => (error as AudioFault).reason === 'stalled');
  while (children.length === 0) await new Promise(setImmediate);
  const child = children[0] as ChildProcess;
  child.kill('SIGSTOP');
  const gone = once(child, 'close');
  stream.end(tonePcm(500));
  await broken;
  await gone;
  assert.equal(child.signalCode, 'SIGKILL');
});

test('fault 57: a waiting ffmpeg that was stopped is replaced, and nothing of the sound is lost', {
  skip,
}, async (t) => {
  const { transcoder, children } = startTranscoder(t, { doubtMs: 50 });
  const start = () => transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } });
  for (const toneMs of [500, 20_000]) {
    // The longer one does not fit into the pipe of a process that reads nothing.
    const sound = tonePcm(toneMs);
    const expected = await convert(start(), sound);
    const waiting = children.at(-1) as ChildProcess;
    assert.equal(waiting.exitCode ?? waiting.signalCode, null, 'one waits for the next');
    waiting.kill('SIGSTOP');
    const gone = once(waiting, 'close');
    const stream = start();
    for (let at = 0; at < sound.length; at += 30_000) stream.write(sound.subarray(at, at + 30_000));
    assert.deepEqual(await convert(stream, Buffer.alloc(0)), expected);
    await gone;
    assert.equal(waiting.signalCode, 'SIGKILL');
  }
});

test('fault 57: who comes when all processes are busy waits, and beyond the line is refused with 503', {
  skip,
}, async (t) => {
  const { transcoder, children } = startTranscoder(t, {
    streams: { runningMax: 1, tenantBusyMax: 1, waitingMax: 1 },
    warmMax: 0,
  });
  const start = () => transcoder.transcode({ from: { format: 'pcm' }, to: { format: 'mp3' } });
  const running = start();
  while (children.length === 0) await new Promise(setImmediate);
  const waiting = start();
  const refused = start();
  await assert.rejects(buffer(refused), (error) => (error as FailureError).failure.kind === 'overloaded');
  const second = convert(waiting, tonePcm(500));
  assert.ok((await convert(running, tonePcm(500))).length > 0);
  assert.ok((await second).length > 0);
  assert.equal(children.length, 2);
});

test('fault 58: without ffmpeg mp3 is refused with 501 and how to get it', async (t) => {
  const { transcoder } = startTranscoder(t, { searchPath: '/nonexistent' });
  for (const to of ['mp3', 'opus', 'aac'] as const) {
    const conversion = { from: { format: 'pcm' }, to: { format: to } } as const;
    const refusal = transcoder.refusal(conversion);
    assert.equal(refusal?.kind, 'unsupported');
    assert.match(JSON.stringify(refusal), /apt install ffmpeg/);
    await assert.rejects(convert(transcoder.transcode(conversion), tonePcm(10)), FailureError);
  }
});

test('fault 58: without ffmpeg wav and pcm still become each other and flac, at any rate', async (t) => {
  const { transcoder } = startTranscoder(t, { searchPath: '/nonexistent' });
  const toWav = { from: { format: 'pcm' }, to: { format: 'wav' } } as const;
  assert.equal(transcoder.refusal(toWav), null);
  const wav = await convert(transcoder.transcode(toWav), tonePcm(500));
  const header = readWavHeader(wav);
  assert.ok(header !== null && header !== 'more');
  assert.deepEqual([header.rateHz, header.channels, header.dataBytes], [24_000, 1, null]);
  assert.deepEqual(wav.subarray(header.dataOffsetBytes), tonePcm(500));

  const cd = Buffer.concat([wavHeader({ rateHz: 44_100, channels: 1 }, null), tonePcm(500, { rateHz: 44_100 })]);
  const pcm = await convert(transcoder.transcode({ from: { format: 'wav' }, to: { format: 'pcm' } }), cd);
  assert.equal(pcm.length / 48, 500);

  const stream = transcoder.transcode({ from: { format: 'wav' }, to: { format: 'flac' } });
  for (let at = 0; at < wav.length; at += 333) stream.write(wav.subarray(at, at + 333));
  const flac = await convert(stream, Buffer.alloc(0));
  assert.equal(flac.toString('latin1', 0, 4), 'fLaC');
  if (skip === false) assert.ok(Math.abs(probeBytes(flac).durationMs - 500) < 1);
});
