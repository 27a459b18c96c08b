import assert from 'node:assert/strict';
import { PassThrough, Transform } from 'node:stream';
import { test } from 'node:test';
import { AudioFault } from '../../../engines/audio/audio-fault.ts';
import { createSoundWay } from './sound-way.ts';

const toMp3 = { from: { format: 'wav' }, to: { format: 'mp3' } } as const;

/** A way through `stream`, and its output. */
function through(stream: Transform, out: (sound: Buffer) => boolean = () => true) {
  const heard: Buffer[] = [];
  const faults: string[] = [];
  const way = createSoundWay(toMp3, {
    transcoder: { transcode: () => stream },
    out(sound) {
      heard.push(sound);
      return out(sound);
    },
    onDrain() {},
    onFault: (fault) => faults.push(fault.class),
  });
  return { way, heard, faults, sound: () => Buffer.concat(heard) };
}

test('what is converted goes on whole, however small its pieces', async () => {
  const { way, sound } = through(new PassThrough());
  const pieces = [3, 50, 1, 40, 2, 100].map((bytes, i) => Buffer.alloc(bytes, i));
  for (const piece of pieces) way.write(piece);
  assert.equal(await way.end(), null);
  assert.deepEqual(sound(), Buffer.concat(pieces));
});

test('a header alone does not go out: it is no sound', async () => {
  const stream = new PassThrough();
  stream.write(Buffer.alloc(44));
  const { way, heard } = through(stream);
  assert.equal((await way.end())?.class, 'malformed');
  assert.equal(heard.length, 0);
});

test('sound that cannot be read is its sender’s fault, a converter’s trouble is nobody’s', async () => {
  for (const [reason, ended] of [
    ['unreadable', 'malformed'],
    ['too-long', 'malformed'],
    ['crashed', 'gateway_fault'],
    ['stalled', 'gateway_fault'],
  ] as const) {
    const stream = new Transform({ transform: (_chunk, _encoding, done) => done(new AudioFault(reason, 'is odd')) });
    const { way } = through(stream);
    way.write(Buffer.alloc(10));
    assert.equal((await way.end())?.class, ended, reason);
  }
});

test('a converter that fails while sound still comes is told at once, and stopping it is no failure', async () => {
  const failing = new PassThrough();
  const { faults, way } = through(failing);
  way.write(Buffer.alloc(100));
  failing.destroy(new AudioFault('unreadable', 'is odd'));
  await new Promise((resolve) => failing.once('close', resolve));
  assert.deepEqual(faults, ['malformed']);

  const stopped = new PassThrough();
  const other = through(stopped);
  other.way.write(Buffer.alloc(100));
  other.way.stop();
  await new Promise((resolve) => stopped.once('close', resolve));
  assert.deepEqual(other.faults, []);
});

test('a reader who is behind holds the converter back until it has caught up', async () => {
  const stream = new PassThrough();
  let behind = true;
  const firstOut = Promise.withResolvers<void>();
  const { way, heard } = through(stream, () => {
    firstOut.resolve();
    return !behind;
  });
  way.write(Buffer.alloc(100));
  await firstOut.promise;
  await new Promise(setImmediate);
  assert.equal(stream.isPaused(), true);
  way.write(Buffer.alloc(100));
  assert.equal(heard.length, 1);
  behind = false;
  way.readerDrained();
  assert.equal(await way.end(), null);
  assert.equal(heard.length, 2);
});
