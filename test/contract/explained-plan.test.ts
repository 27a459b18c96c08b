import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

interface Explained {
  cost: number;
  candidates: { target: string }[];
  error: { code: number; message: string; param: string | null } | null;
}

test('an explanation is of the plan that the call has: its cost, its targets, its refusal', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' };
  const gateway = await startGateway(t, {
    providers: { one: provider, two: provider },
    models: {
      cheap: { targets: ['one/mock/ok'] },
      dear: { cost: 5, targets: ['two/mock/ok'] },
    },
  });
  const messages = [{ role: 'user', content: 'Hello' }];
  async function explained(body: object): Promise<Explained> {
    const headers = { authorization: `Bearer ${adminKey}` };
    const response = await gateway.fetch('/admin/v1/explain', { json: { body }, headers });
    assert.equal(response.status, 200);
    return (await response.json()) as Explained;
  }

  const either = { model: 'cheap', models: ['dear'], messages };
  const answered = await gateway.fetch('/v1/chat/completions', { json: either });
  const { cost, candidates } = await explained(either);
  assert.equal(answered.headers.get('x-culvert-cost'), String(cost));
  assert.equal(cost, 5);
  assert.deepEqual(
    candidates.map(({ target }) => target),
    ['one/mock/ok', 'two/mock/ok'],
  );

  const file = { type: 'file', file: { file_id: 'file-NobodyGaveThisOne' } };
  const naming = { model: 'cheap', messages: [{ role: 'user', content: [file] }] };
  const refused = await gateway.fetch('/v1/chat/completions', { json: naming });
  const { error } = await explained(naming);
  const { error: said } = (await refused.json()) as { error: { message: string } };
  assert.deepEqual([error?.code, error?.message], [refused.status, said.message]);
  assert.equal(refused.status, 404);
});

test('an explanation for a key takes the files that the key has uploaded', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { one: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
    models: { chat: { targets: ['one/mock/ok'] } },
  });
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new File(['name,legs'], 'a.csv'));
  const uploaded = await gateway.fetch('/v1/files', { method: 'POST', body: form });
  const { id } = (await uploaded.json()) as { id: string };
  const content = [{ type: 'file', file: { file_id: id } }];
  const body = { model: 'chat', messages: [{ role: 'user', content }] };
  const answered = await gateway.fetch('/v1/chat/completions', { json: body });
  assert.equal(answered.status, 200);
  const headers = { authorization: `Bearer ${adminKey}` };
  async function explained(key: string): Promise<Explained> {
    const response = await gateway.fetch('/admin/v1/explain', { json: { key, body }, headers });
    return (await response.json()) as Explained;
  }
  const { error, candidates } = await explained('sk-cv-declared:dev/test');
  assert.deepEqual([error, candidates.length], [null, 1]);
  assert.equal((await explained('sk-cv-declared:other/test')).error?.code, 404);
});
