import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';

const mb = 1024 * 1024;

function upload(gateway: TestGateway, bytes: number): Promise<Response> {
  const body = new FormData();
  body.set('purpose', 'user_data');
  body.set('file', new Blob([new Uint8Array(bytes)]), 'a.bin');
  return gateway.fetch('/v1/files', { method: 'POST', body });
}

async function storage(gateway: TestGateway): Promise<{ used_bytes: number; allowed_bytes: number }> {
  return (
    (await (await gateway.fetch('/v1/usage')).json()) as { storage: { used_bytes: number; allowed_bytes: number } }
  ).storage;
}

const plans = { default: { windows: 'off', rpm: 'off', concurrency: 50, storage: '20mb' } };

test('S39 fifteen files of 10 MB at once keep what a plan of 20 MB allows, and the rest gets 429', async (t) => {
  const gateway = await startGateway(t, { plans });
  const answers = await Promise.all(
    Array.from({ length: 15 }, () =>
      upload(gateway, 10 * mb - 64 * 1024).then(
        ({ status }) => status,
        () => 429,
      ),
    ),
  );
  assert.ok(
    answers.every((status) => status === 200 || status === 429),
    String(answers),
  );
  const { data } = (await (await gateway.fetch('/v1/files')).json()) as { data: { bytes: number }[] };
  const kept = data.reduce((sum, { bytes }) => sum + bytes, 0);
  assert.ok(kept <= 20 * mb, `${kept} bytes are kept`);
  const { used_bytes } = await storage(gateway);
  assert.ok(used_bytes <= 20 * mb && used_bytes >= kept, String(used_bytes));
});

test('S39 what an upload held is given back when it ends, fails or is cut', async (t) => {
  const gateway = await startGateway(t, { plans });
  // A cut one.
  const cut = request(`${gateway.url}/v1/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${testKey}`,
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': 15 * mb,
    },
  });
  cut.on('error', () => undefined);
  cut.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n');
  await new Promise((resolve) => cut.write(Buffer.alloc(10 * mb), resolve));
  cut.destroy();
  // A failing one: no purpose.
  const wrong = new FormData();
  wrong.set('file', new Blob([new Uint8Array(12 * mb)]), 'a.bin');
  assert.equal((await gateway.fetch('/v1/files', { method: 'POST', body: wrong })).status, 400);
  while ((await storage(gateway)).used_bytes > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const first = await upload(gateway, 12 * mb);
  assert.equal(first.status, 200);
  const { id } = (await first.json()) as { id: string };
  const second = await upload(gateway, 12 * mb);
  assert.equal(second.status, 429);
  const { error } = (await second.json()) as { error: { limit: string; message: string } };
  assert.match(error.message, /Storage limit reached.*Nothing of this request was kept/);
  await gateway.fetch(`/v1/files/${id}`, { method: 'DELETE' });
  assert.equal((await upload(gateway, 12 * mb)).status, 200, 'a deletion makes room at once');
});

test('S39 requests of a batch of Messages count while they come', async (t) => {
  const gateway = await startGateway(t, { plans: { default: { ...plans.default, storage: '3mb' } } });
  const params = { model: 'sim/chat', max_tokens: 9, messages: [{ role: 'user', content: 'x'.repeat(500_000) }] };
  const requests = Array.from({ length: 10 }, (_, i) => ({ custom_id: `r-${i}`, params }));
  const answer = await gateway.fetch('/v1/messages/batches', { json: { requests } });
  assert.equal(answer.status, 429, await answer.text());
  assert.equal((await storage(gateway)).used_bytes, 0);
});
