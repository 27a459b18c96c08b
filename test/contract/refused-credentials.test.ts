import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('a revoked credential among several costs no caller anything, and the log names it once, without its secret', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions sk-revoked-0001', ['always status=401;echo-auth']);
  let lines = '';
  const sink = new Writable({
    write(chunk, _, done) {
      lines += String(chunk);
      done();
    },
  });
  const secrets = ['sk-revoked-0001', 'sk-good-0002'];
  const credentials = secrets.map((secret) => ({ api_key: secret }));
  const gateway = await startGateway(
    t,
    {
      providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, credentials } },
      models: { chat: { targets: ['up/mock/ok'] } },
    },
    { log: pino({ base: null }, sink) },
  );
  for (let i = 0; i < 40; i++) {
    const json = { model: 'chat', messages: [{ role: 'user', content: `Hi ${i}` }] };
    const answer = await gateway.fetch('/v1/chat/completions', { json });
    assert.equal(answer.status, 200, await answer.text());
  }
  const refused = lines.split('\n').filter((line) => line.includes('a credential was refused'));
  assert.equal(refused.length, 1);
  const { level, provider, credential, status } = JSON.parse(refused[0]!);
  assert.deepEqual(
    { level, provider, credential, status },
    { level: 40, provider: 'up', credential: 'up#0', status: 401 },
  );
  for (const secret of secrets) assert.ok(!lines.includes(secret));
});
