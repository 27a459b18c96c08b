import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

/*
 * The cells of ways that are no conversations: pages, calls of MCP servers, the vector store, embeddings, moderations, and
 * requests for a provider as they are. Batches and realtime sessions have files of their own.
 */

const word = 'zebrafish';
const upstream = await startUpstream();
after(upstream.close);
const site = createServer((_, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(`<title>A page</title><main><p>Here swims the ${word}, in a sentence of some length.</p></main>`);
});
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
after(() => site.close());
const place = `127.0.0.1:${(site.address() as AddressInfo).port}`;
const mcp = await startMcpServer({ after }, { tools: [word] });
const verdicts = {
  block: { action: 'block' },
  mask: { action: 'mask' },
  flag: { action: 'flag' },
  observe: { action: 'block', mode: 'observe' },
} as const;
const did = { block: 'blocked', mask: 'masked', flag: 'flagged', observe: 'would-be-blocked' } as const;
const names = Object.keys(verdicts) as (keyof typeof verdicts)[];
const keyOf = (name: string, on: string) => `sk-cv-other-ways-${name}-${on}`;
const sides = ['input', 'output'] as const;
const gateway = await startGateway({ after } as TestContext, {
  fetch: { allow_private: [place, mcp.place] },
  mcp: { servers: { one: { url: mcp.url } } },
  providers: { openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k', passthrough: true } },
  models: {
    embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
    judge: { type: 'moderation', targets: ['openai/omni-moderation-latest'] },
  },
  guards: Object.fromEntries(
    names.flatMap((name) =>
      sides.map((on) => [`${name}-${on}`, { check: 'words', words: [word], ...verdicts[name], on: [on] }]),
    ),
  ),
  keys: names.flatMap((name) =>
    sides.map((on) => ({ key: keyOf(name, on), account: name, name: on, guards: [`${name}-${on}`] })),
  ),
});

interface Way {
  input?: [path: string, json: object];
  output?: [path: string, json: object];
}
const ways: Record<string, Way> = {
  'a page': {
    input: ['/v1/tools/scrape', { url: `http://${place}/${word}` }],
    output: ['/v1/tools/scrape', { url: `http://${place}/` }],
  },
  'a call of an MCP server': {
    input: ['/v1/mcp/call', { tool: `one__${word}`, arguments: { name: `a ${word}` } }],
    output: ['/v1/mcp/call', { tool: `one__${word}`, arguments: { name: 'a trout' } }],
  },
  embeddings: { input: ['/v1/embeddings', { model: 'embed', input: `a ${word}` }] },
  moderations: { input: ['/v1/moderations', { model: 'judge', input: [`a ${word}`] }] },
};

for (const [way, asked] of Object.entries(ways)) {
  for (const [on, [path, json]] of Object.entries(asked) as ['input' | 'output', [string, object]][]) {
    for (const name of names) {
      test(`${way}, ${on}: ${name}`, async () => {
        const headers = { authorization: `Bearer ${keyOf(name, on)}` };
        const response = await gateway.fetch(path, { json, headers });
        const text = await response.text();
        // The name of the tool is not the answer's.
        const said = text.replaceAll(`one__${word}`, '');
        assert.match(
          response.headers.get('x-culvert-guard') ?? '',
          new RegExp(`^${name}-${on}=${did[name]}:\\d+; scanned=100%$`),
          text,
        );
        if (name === 'block') {
          assert.equal(response.status, 400, text);
          assert.match(
            text,
            new RegExp(`The guard 'block-${on}' does not let the ${on === 'input' ? 'request' : 'answer'} pass`),
          );
        } else assert.equal(response.status, 200, text);
        if (on === 'output') assert.equal(said.includes(word), name === 'flag' || name === 'observe', said);
      });
    }
  }
}

test('an answer to a question of an MCP server is read, however the fields of its form are named', async () => {
  const headers = { authorization: `Bearer ${keyOf('block', 'input')}` };
  for (const field of ['name', 'id', 'comment']) {
    const inputResponses = { asks: { action: 'accept', content: { [field]: `a ${word}` } } };
    const json = {
      ...{ tool: `one__${word}`, arguments: { name: 'a trout' } },
      ...{ clientCapabilities: { elicitation: {} }, inputResponses },
    };
    const response = await gateway.fetch('/v1/mcp/call', { json, headers });
    assert.equal(response.headers.get('x-culvert-guard'), 'block-input=blocked:1; scanned=100%', field);
    assert.equal(response.status, 400);
  }
});

test('payloads of points have their verdict', async () => {
  for (const name of names) {
    const ask = async (path: string, on: string, json: object, method = 'PUT') => {
      const headers = { authorization: `Bearer ${keyOf(name, on)}` };
      const response = await gateway.fetch(`/v1/vectors/collections/c${path}`, { json, method, headers });
      return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
    };
    const point = { points: [{ id: 1, vector: [1, 0], payload: { name: `a ${word}` } }] };
    for (const on of sides) await ask('', on, { vectors: { size: 2, distance: 'Dot' } });
    const put = await ask('/points?wait=true', 'input', point);
    assert.match(put.guard ?? '', new RegExp(`^${name}-input=${did[name]}:1; scanned=100%$`), put.text);
    assert.equal(put.status, name === 'block' ? 400 : 200, put.text);
    assert.equal((await ask('/points?wait=true', 'output', point)).status, 200);
    const found = await ask('/points/query', 'output', { query: [1, 0], with_payload: true }, 'POST');
    assert.match(found.guard ?? '', new RegExp(`^${name}-output=${did[name]}:1; scanned=100%$`), found.text);
    assert.equal(found.text.includes(word), name === 'flag' || name === 'observe', found.text);
  }
});

test('words of stored payloads stand for no value of a later request', async () => {
  const ask = async (path: string, json: object, method = 'POST') => {
    const headers = { authorization: `Bearer ${keyOf('mask', 'input')}` };
    const response = await gateway.fetch(`/v1/vectors/collections/words${path}`, { json, method, headers });
    return { status: response.status, text: await response.text() };
  };
  assert.equal((await ask('', { vectors: { embedding_model: 'culvert-lexical-1024' } }, 'PUT')).status, 200);
  const points = [{ id: 1, payload: { text: `One ${word}` } }];
  assert.equal((await ask('/points?wait=true', { points }, 'PUT')).status, 200);
  const filter = { must: [{ key: 'text', match: { value: word } }] };
  for (const [path, json] of [
    ['/points/query', { query: { text: 'One' }, filter }],
    ['/points/query', { prefetch: { query: { text: 'One' }, filter }, query: { fusion: 'rrf' } }],
    ['/points/delete', { filter }],
  ] as const) {
    const { status, text } = await ask(path, json);
    assert.equal(status, 400, text);
    assert.match(text, /The guard 'mask-input' does not let a value in a filter pass/);
  }
  const { text } = await ask('/points/query', { query: { text: `Another ${word}` }, with_payload: true });
  assert.match(text, /"text":"One <WORD_1>"/);
});

test('requests for a provider as they are go nowhere under a guard that has to read them', async () => {
  const json = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
  for (const name of names) {
    for (const on of sides) {
      const headers = { authorization: `Bearer ${keyOf(name, on)}` };
      const response = await gateway.fetch('/passthrough/openai/chat/completions', { json, headers });
      const text = await response.text();
      const guard = response.headers.get('x-culvert-guard');
      assert.equal(guard, `${name}-${on}=pass; unscanned; scanned=0%`);
      assert.equal(response.status, name === 'observe' ? 200 : 400, text);
      if (name !== 'observe') assert.match(text, new RegExp(`The guard '${name}-${on}' cannot read`));
    }
  }
});

test('pages of crawls and batches are stored under no guard that has to read them', async () => {
  const orders = [
    ['/v1/tools/crawl', { url: `http://${place}/`, limit: 1 }],
    ['/v1/tools/batch/scrape', { urls: [`http://${place}/`] }],
  ] as const;
  for (const [path, json] of orders) {
    for (const name of names) {
      for (const on of sides) {
        const headers = { authorization: `Bearer ${keyOf(name, on)}` };
        const response = await gateway.fetch(path, { json, headers });
        const text = await response.text();
        assert.equal(response.status, name === 'observe' ? 200 : 400, text);
        if (name !== 'observe') assert.match(text, new RegExp(`The guard '${name}-${on}' cannot read`));
      }
    }
  }
});

test('whether a crawl may begin is no request of its own', async () => {
  const json = { url: `http://${place}/`, limit: 1 };
  const headers = { authorization: `Bearer ${keyOf('observe', 'output')}` };
  const begun = (await (await gateway.fetch('/v1/tools/crawl', { json, headers })).json()) as { id: string };
  const rows = async () => {
    const asked = await fetch(`${gateway.url}/admin/v1/requests?account=observe&limit=500`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    const { data } = (await asked.json()) as { data: { endpoint: string; status: number }[] };
    return data.filter(({ endpoint }) => endpoint === 'crawl-page');
  };
  await until('the crawl is done', async () => {
    const answer = await gateway.fetch(`/v1/tools/crawl/${begun.id}`, { headers });
    return ((await answer.json()) as { status: string }).status === 'completed' && (await rows()).length > 0;
  });
  assert.deepEqual([...new Set((await rows()).map(({ status }) => status))], [200]);
});
