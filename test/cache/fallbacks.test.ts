import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask } from './formats.ts';

const upstream = await startUpstream();
after(upstream.close);
const cache = { ttl: '1h' };
const target = (model: string) => ({ targets: [{ provider: 'up', model }] });
const config = (price: number) => ({
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    broken: { ...target('mock/status=503'), cache },
    second: { targets: [{ provider: 'up', model: 'mock/text=second', price: { input: price, output: 1 } }] },
    third: target('mock/text=third'),
    own: { ...target('mock/status=503'), fallbacks: ['second'], cache },
  },
});
const gateway = await startGateway({ after } as TestContext, config(1));

const asked = (more: object, model = 'broken') => ask(gateway, 'chat', { model, text: 'fallbacks', more: { ...more } });

test('the answer of a fallback model is kept, and each hit says which model gave it', async () => {
  const miss = await asked({ models: ['second'] });
  assert.deepEqual([miss.status, miss.cache, miss.text], [200, 'miss', 'second'], miss.body);
  const hit = await asked({ models: ['second'] });
  assert.deepEqual([hit.cache, hit.text], ['hit', 'second']);
  assert.equal(hit.headers.get('x-culvert-model'), miss.headers.get('x-culvert-model'));
  const configured = await asked({}, 'own');
  assert.deepEqual([configured.cache, configured.text], ['miss', 'second']);
  assert.equal((await asked({}, 'own')).cache, 'hit');
});

test('other fallbacks, another order of them, or none make another request', async () => {
  assert.equal((await asked({ models: ['third'] })).text, 'third');
  assert.equal((await asked({ models: ['third', 'second'] })).text, 'third');
  assert.equal((await asked({ models: ['second', 'third'] })).text, 'second');
  assert.ok((await asked({})).status >= 500);
});

test('a change of the fallback model makes new answers', async () => {
  assert.equal((await asked({ models: ['second'] })).cache, 'hit');
  await gateway.reload(config(2));
  assert.equal((await asked({ models: ['second'] })).cache, 'miss');
});
