import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startService } from '../guards/start-service.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask } from './formats.ts';

const upstream = await startUpstream();
after(upstream.close);
const service = await startService(after);
const key = (name: string, more: object = {}) => ({ key: `sk-cv-flight-${name}`, account: name, name, ...more });
const gateway = await startGateway({ after } as TestContext, {
  server: { processes: 1 },
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  guards: {
    slow: {
      check: 'webhook',
      url: service.url,
      secret: 'whsec_c2VjcmV0LW9mLWEtZ3VhcmQtd2hpY2gtc2lnbnM=',
      action: 'block',
      deadline: '30s',
      on: ['output'],
    },
  },
  models: { chat: { targets: [{ provider: 'up', model: 'mock/ok' }], cache: { ttl: '1h', scope: 'all' } } },
  keys: [key('judged', { guards: ['slow'] }), key('plain')],
});

for (const stream of [false, true]) {
  test(`nobody waits for what a guard of another key decides: ${stream ? 'streamed' : 'whole'}`, async () => {
    const decided = Promise.withResolvers<object>();
    service.calls.length = 0;
    service.play = () => decided.promise;
    const text = `waits ${stream}`;
    const judged = ask(gateway, 'chat', { text, stream, key: 'sk-cv-flight-judged' });
    await until('the guard is asked', async () => service.calls.length > 0);
    const plain = await Promise.race([
      ask(gateway, 'chat', { text, stream, key: 'sk-cv-flight-plain' }),
      new Promise<null>((resolve) => setTimeout(resolve, 5_000, null)),
    ]);
    decided.resolve({ verdict: 'pass' });
    assert.equal((await judged).status, 200);
    assert.equal(plain?.status, 200, 'it waited');
  });
}
