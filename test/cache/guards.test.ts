import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { CacheEntry } from '../../src/books/metering/cache-store.ts';
import type { GatewayStep, TextFilter } from '../../src/inference/models/steps.ts';
import { invalid } from '../../src/kernel/failure.ts';
import { memoryCache } from '../memory-cache.ts';
import { otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask } from './formats.ts';

const address = /[a-z]+@example\.org/;
let blocked = '';

/** Masks addresses on the way in, and gives them back in the answer; ends answers with the `blocked` word. */
const mask: GatewayStep = {
  begin() {
    let masked = '';
    return {
      async request(view) {
        const parts = (await view.texts())?.parts ?? [];
        const found = parts.filter(({ text }) => address.test(text));
        masked = found[0]?.text.match(address)?.[0] ?? '';
        return { changes: found.map((part) => ({ ...part, text: part.text.replace(address, '<EMAIL_1>') })) };
      },
      answer: () => atOnce((text) => text.replaceAll('<EMAIL_1>', masked)),
    };
  },
};

/** Holds a text until its end. */
function atOnce(change: (text: string) => string): TextFilter {
  let held = '';
  return {
    push(text) {
      held += text;
      return '';
    },
    end: () => (blocked !== '' && held.includes(blocked) ? invalid(null, 'A guard ended this answer.') : change(held)),
  };
}

const upstream = await startUpstream();
after(upstream.close);
const stored: CacheEntry[] = [];
const store = memoryCache(() => Date.now());
const gateway = await startGateway(
  { after } as TestContext,
  {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: {
      chat: {
        targets: [{ provider: 'up', model: 'mock/ok' }],
        cache: { ttl: '1h', scope: 'all' },
      },
    },
  },
  {
    steps: [{ step: mask, on: 'server' }],
    cache: {
      ...store,
      put(scope, digest, entry) {
        stored.push(entry);
        return store.put(scope, digest, entry);
      },
    },
  },
);
upstream.script('/v1/chat/completions', ['always text=Written to <EMAIL_1> now']);
const requests = () => upstream.requests().filter(({ method }) => method === 'POST').length;

for (const stream of [false, true]) {
  test(`each caller gets back what a guard masked for it alone, ${stream ? 'streamed' : 'whole'}`, async () => {
    const before = requests();
    const question = (who: string) => ({ stream, text: `Write to ${who}@example.org, ${stream}` });
    const ada = await ask(gateway, 'chat', question('ada'));
    assert.deepEqual([ada.cache, ada.text], ['miss', 'Written to ada@example.org now']);
    const bob = await ask(gateway, 'messages', { ...question('bob'), key: otherKey });
    assert.deepEqual([bob.cache, bob.text], ['hit', 'Written to bob@example.org now'], bob.body);
    assert.equal(requests(), before + 1);
    assert.ok(stored.length > 0 && stored.every(({ body }) => !String(body).includes('example.org')));
  });

  test(`an answer that a guard ends is not kept, and a kept one meets it too, ${stream ? 'streamed' : 'whole'}`, async () => {
    const text = `blocked ${stream}`;
    blocked = 'Written';
    const before = stored.length;
    assert.equal((await ask(gateway, 'chat', { text, stream })).status, 400);
    assert.equal(stored.length, before);
    blocked = '';
    assert.equal((await ask(gateway, 'chat', { text, stream })).cache, 'miss');
    blocked = 'Written';
    const refused = await ask(gateway, 'chat', { text, stream });
    assert.ok(!refused.body.includes('Written'), refused.body);
    assert.match(refused.body, /A guard ended this answer/);
    blocked = '';
  });
}
