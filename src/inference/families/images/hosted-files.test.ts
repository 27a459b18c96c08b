import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { fakeClock } from '../../../../test/fake-clock.ts';
import type { FileStore } from '../../../kernel/file-store.ts';
import { createSigner } from '../../../kernel/sign.ts';
import { createHostedFiles, hostedForMs } from './hosted-files.ts';

function memoryFiles(): FileStore & { names(): string[] } {
  const files = new Map<string, { bytes: Uint8Array; atMs: number }>();
  return {
    names: () => [...files.keys()],
    async put(name, bytes, atMs) {
      files.set(name, { bytes, atMs });
    },
    async open(name) {
      const file = files.get(name);
      return file === undefined ? null : { bytes: file.bytes.length, content: Readable.from([file.bytes]) };
    },
    trouble: () => null,
    async sweep(beforeMs) {
      const old = [...files].filter(([, { atMs }]) => atMs < beforeMs);
      for (const [name] of old) files.delete(name);
      return old.length;
    },
  };
}

const sizes = async () => ({ async add() {}, async close() {} });
const secret = 'a secret of more than thirty-two bytes';

async function hostOne() {
  const store = memoryFiles();
  const clock = fakeClock();
  const files = createHostedFiles({ store, sizes, signer: createSigner([secret], 'signed links'), clock });
  const url = new URL(
    await files.host('dev', { type: 'image/webp', content: Buffer.from('x') }, 'https://ai.example.org/gate'),
  );
  const name = url.pathname.split('/').at(-1)!;
  const open = () => files.open(name, url.searchParams.get('exp')!, url.searchParams.get('sig')!);
  return { store, clock, files, url, name, open };
}

test('a link opens its file for an hour, and says for how long', async () => {
  const { clock, url, open } = await hostOne();
  assert.match(
    url.href,
    /^https:\/\/ai\.example\.org\/gate\/v1\/files-signed\/[A-Za-z0-9]{32}\.webp\?exp=\d+&sig=[\w-]{43}$/,
  );
  const opened = await open();
  assert.deepEqual([opened?.type, opened?.bytes, opened?.leftS], ['image/webp', 1, 3_600]);
  clock.advance(hostedForMs - 1_000);
  assert.equal((await open())?.leftS, 1);
  clock.advance(2_000);
  assert.equal(await open(), null);
});

test('every replica that has the secret opens it, no other one', async () => {
  const { store, clock, name, url } = await hostOne();
  const [exp, sig] = [url.searchParams.get('exp')!, url.searchParams.get('sig')!];
  assert.notEqual(
    await createHostedFiles({ store, sizes, signer: createSigner([secret], 'signed links'), clock }).open(
      name,
      exp,
      sig,
    ),
    null,
  );
  assert.equal(
    await createHostedFiles({ store, sizes, signer: createSigner([`${secret}!`], 'signed links'), clock }).open(
      name,
      exp,
      sig,
    ),
    null,
  );
});

test('a sweep removes what no link opens any more, and nothing before', async () => {
  const { store, clock, files, open } = await hostOne();
  assert.equal(await files.sweep(), 0);
  assert.notEqual(await open(), null);
  clock.advance(hostedForMs + 1);
  assert.equal(await files.sweep(), 1);
  assert.deepEqual(store.names(), []);
});
