import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { providerTypes } from '../../src/formats/providers/catalog.ts';
import { createConnection } from '../../src/formats/providers/provider-connection.ts';
import { lookAtProvider } from '../../src/inference/models/live-look.ts';
import { createTransport } from '../../src/upstream/transport/send.ts';
import type { Transport } from '../../src/upstream/transport/upstream-call.ts';
import { listening } from '../listening.ts';

const pathOfKey: Record<string, string> = { openrouter: '/v1/key', vercel: '/v1/credits', deepinfra: '/v1/me' };

for (const [type, path] of Object.entries(pathOfKey)) {
  test(`${type}: its list is for everybody, and a wrong key is found all the same`, async (t) => {
    const server = createServer(({ url, headers }, response) => {
      const isRight = headers.authorization === 'Bearer right';
      response.statusCode = url === '/v1/models' || isRight ? 200 : 401;
      const body = url === '/v1/models' ? { data: [{ id: 'vendor/model' }] } : { error: { message: 'No such key.' } };
      response.end(JSON.stringify(url === path || url === '/v1/models' ? body : {}));
    });
    const transport = createTransport();
    t.after(() => transport.destroy());
    const baseUrl = `${await listening(t, server)}/v1`;
    const verdictOf = async (key: string) => {
      const provider = providerTypes.get(type)!;
      const made = createConnection({ name: type, provider, baseUrl, secrets: [key], headers: {}, apiVersion: null });
      assert.ok(made.ok);
      const [look] = await lookAtProvider(transport, made.connection);
      return [look?.verdict, look?.message];
    };
    assert.deepEqual(await verdictOf('right'), ['ok', '']);
    assert.deepEqual(await verdictOf('wrong'), ['bad credential', `${type} answered 401 to its key: No such key.`]);
  });
}

test('huggingface: its own address has a key tested at the vendor’s other host, another address does not', async (t) => {
  const origins = new Set<string>();
  const server = createServer(({ url, headers }, response) => {
    const isRight = url === '/v1/models' || headers.authorization === 'Bearer right';
    response.statusCode = isRight ? 200 : 401;
    const error = 'Invalid username or password.';
    response.end(JSON.stringify(url === '/v1/models' ? { data: [{ id: 'vendor/model' }] } : isRight ? {} : { error }));
  });
  const [local, transport] = [await listening(t, server), createTransport()];
  t.after(() => transport.destroy());
  const toVendor: Transport = {
    ...transport,
    send(request, observer) {
      origins.add(request.origin);
      return transport.send({ ...request, origin: local }, observer);
    },
  };
  const verdictOf = async (key: string, baseUrl: string | null) => {
    const provider = providerTypes.get('huggingface')!;
    const facts = { provider, baseUrl, secrets: [key], headers: {}, apiVersion: null };
    const made = createConnection({ name: 'hf', ...facts });
    assert.ok(made.ok);
    const [look] = await lookAtProvider(toVendor, made.connection);
    return [look?.verdict, look?.message];
  };
  assert.deepEqual(await verdictOf('right', null), ['ok', '']);
  const wrong = 'hf answered 401 to its key: Invalid username or password.';
  assert.deepEqual(await verdictOf('wrong', null), ['bad credential', wrong]);
  assert.deepEqual([...origins].toSorted(), ['https://huggingface.co', 'https://router.huggingface.co']);
  origins.clear();
  assert.equal((await verdictOf('wrong', `${local}/v1`))[0], 'ok');
  assert.deepEqual([...origins], [local]);
});

for (const type of ['nvidia', 'huggingface', 'chutes', 'sambanova']) {
  test(`${type}: no free call needs the key, and the test says so`, async (t) => {
    const server = createServer((_, response) => response.end(JSON.stringify({ data: [{ id: 'vendor/model' }] })));
    const transport = createTransport();
    t.after(() => transport.destroy());
    const baseUrl = `${await listening(t, server)}/v1`;
    const provider = providerTypes.get(type)!;
    const made = createConnection({ name: type, provider, baseUrl, secrets: ['any'], headers: {}, apiVersion: null });
    assert.ok(made.ok);
    const [look] = await lookAtProvider(transport, made.connection);
    assert.equal(look?.verdict, 'ok');
    assert.match(look.message, /the key was not tested/);
  });
}
