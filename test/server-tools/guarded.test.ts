import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startService } from '../guards/start-service.ts';
import { listening } from '../listening.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { searxngSays, startEngine } from '../tools/start-engine.ts';

/* Guards and hooks over what tools of this server bring to a model: their descriptions, its calls, and their results. */

const t = { after: after as TestContext['after'] };
// A further tool answers with its name.
const server = await startMcpServer(t, { tools: ['zebrafish', 'chart'] });
const engine = await startEngine(t, () => searxngSays('https://zebrafish.example/one'));
const upstream = await startUpstream();
t.after(() => upstream.close());
const module = join(temporaryFolder(t), 'tools.mjs');
writeFileSync(
  module,
  `export default { version: 1, onRequest({ texts }) {
    const at = texts.findIndex(({ kind, text }) => kind === 'tool-result' && text === 'zebrafish');
    if (at >= 0) return { model: 'nobody', texts: [{ at, text: 'Changed.' }] };
    return texts.some(({ text }) => text === 'It did not work.') ? { refuse: 'No failures.' } : null;
  } };`,
);
const scripted: { arguments: string; bodies: JsonObject[] } = { arguments: '{}', bodies: [] };
/** Calls a tool in its first turn, with scripted arguments. */
const calling = createServer(async (request, response) => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  if (request.method === 'GET') return response.end('{"data":[]}');
  const isFirst = scripted.bodies.push(JSON.parse(text) as JsonObject) === 1;
  const call = { id: 'c1', type: 'function', function: { name: 'sums__large', arguments: scripted.arguments } };
  const content = isFirst ? 'For <EMAIL_1>:' : 'Done for <EMAIL_1>.';
  const message = { role: 'assistant', content, ...(isFirst && { tool_calls: [call] }) };
  const choices = [{ index: 0, message, finish_reason: isFirst ? 'tool_calls' : 'stop' }];
  response.setHeader('content-type', 'application/json');
  return response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices }));
});
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
/** Finds what `hears` does. */
const service = await startService(after);
service.play = ({ body }) => {
  const { texts } = JSON.parse(body) as { texts: { text: string }[] };
  const findings = texts.flatMap(({ text: found }, text) => {
    const [value = ''] = /it did not work|zebrafish\.example|adds two numbers/i.exec(found) ?? [];
    const chars = Array.from(found.slice(0, found.indexOf(value))).length;
    return value === '' ? [] : [{ kind: 'word', text, start: chars, end: chars + value.length }];
  });
  return findings.length === 0 ? { verdict: 'pass' } : { verdict: 'mask', findings };
};
const outside = {
  check: 'webhook',
  deadline: '20s',
  url: service.url,
  secret: `whsec_${btoa('a secret that is long enough')}`,
  on: ['output'],
};
const result = { check: 'words', words: ['zebrafish'], parts: ['tool-result'], on: ['input'] };
const definition = { check: 'words', words: ['adds two numbers'], on: ['input'] };
const guards = {
  mask: { ...result, action: 'mask' },
  block: { ...result, action: 'block' },
  flag: { ...result, action: 'flag' },
  route: { ...result, action: 'route', route_to: 'free' },
  lenient: { ...result, action: 'block', on_error: 'allow' },
  'mask-definition': { ...definition, action: 'mask' },
  'block-definition': { ...definition, action: 'block' },
  hears: { check: 'words', words: ['it did not work', 'zebrafish.example'], action: 'mask', on: ['output'] },
  stops: { check: 'words', words: ['it did not work', 'zebrafish.example'], action: 'block', on: ['output'] },
  asks: { ...outside, action: 'mask' },
  'asks-and-stops': { ...outside, action: 'block' },
  // It blocks: the model is asked meanwhile, but not for a result.
  'asks-of-results': { ...outside, parts: ['tool-result'], on: ['input'], action: 'block' },
  'hears-definition': { ...definition, on: ['output'], action: 'mask' },
  email: { check: 'personal-data', kinds: ['email'], action: 'mask' },
};
const guarded = (target: string, name: string) => ({ targets: [target], guards: [name] });
const gateway = await startGateway(t as TestContext, {
  providers: {
    chat: { type: 'openai', ...at },
    claude: { type: 'anthropic', ...at, server_tools: [] },
    calling: { type: 'openai', base_url: `${await listening(t, calling)}/v1`, api_key: 'k' },
  },
  fetch: { allow_private: [server.place] },
  tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  guards,
  hooks: { looks: { module, models: ['hooked'] } },
  models: {
    free: { targets: ['chat/mock/ok'] },
    hooked: { targets: ['chat/mock/ok'] },
    ...Object.fromEntries(Object.keys(guards).map((name) => [name, guarded('chat/mock/ok', name)])),
    'claude-mask': guarded('claude/mock/ok', 'mask'),
    'claude-block': guarded('claude/mock/ok', 'block'),
    'claude-hears': guarded('claude/mock/ok', 'hears'),
    'claude-stops': guarded('claude/mock/ok', 'stops'),
    'claude-asks': guarded('claude/mock/ok', 'asks'),
    'claude-asks-and-stops': guarded('claude/mock/ok', 'asks-and-stops'),
    email: guarded('calling/m', 'email'),
  },
});

type Ask = (model: string, tool: string, stream: boolean) => { path: string; json: JsonObject };
const mcp = { type: 'mcp', server_label: 'sums', server_url: server.url, require_approval: 'never' };
const asked = (tool: string) => [{ role: 'user', content: `Please call ${tool}` }];
const formats: Record<string, Ask> = {
  chat: (model, tool, stream) => ({
    path: '/v1/chat/completions',
    json: { model, stream, messages: asked(`sums__${tool}`), tools: [mcp] },
  }),
  Responses: (model, tool, stream) => ({
    path: '/v1/responses',
    json: { model, stream, input: `Please call sums__${tool}`, tools: [mcp] },
  }),
  Messages: (model, tool, stream) => ({
    path: '/v1/messages',
    json: {
      model: `claude-${model}`,
      stream,
      max_tokens: 500,
      messages: asked(`sums__${tool}`),
      mcp_servers: [{ type: 'url', url: server.url, name: 'sums' }],
    },
  }),
  'a search in chat': (model, _, stream) => ({
    path: '/v1/chat/completions',
    json: { model, stream, messages: asked('web_search'), web_search_options: {} },
  }),
};

async function ask(format: string, model: string, tool = 'zebrafish', stream = false) {
  upstream.clear();
  const { path, json } = formats[format]!(model, tool, stream);
  const response = await gateway.fetch(path, { method: 'POST', json });
  const text = await response.text();
  const turns = upstream.requests().filter(({ method }) => method === 'POST');
  return { status: response.status, text, turns, guard: response.headers.get('x-culvert-guard') };
}

/** Newest rows of the ledger. */
async function rows(count: number): Promise<JsonObject[]> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const answer = await fetch(`${gateway.url}/admin/v1/requests?limit=${count}`, { headers });
  return ((await answer.json()) as { data: JsonObject[] }).data;
}

const results = (turn: { body: unknown } | undefined) =>
  JSON.stringify(((turn as { body: unknown }).body as { messages: unknown[] }).messages.slice(-1));

for (const format of Object.keys(formats)) {
  for (const stream of [false, true]) {
    const how = `${format}, ${stream ? 'streamed' : 'whole'}`;

    test(`a result is masked for the model, and its caller gets the value: ${how}`, async () => {
      const { status, text, turns, guard } = await ask(format, 'mask', 'zebrafish', stream);
      assert.equal(status, 200, text);
      assert.equal(turns.length, 2);
      assert.match(results(turns[1]), /<WORD_1>/);
      assert.doesNotMatch(results(turns[1]), /zebrafish/);
      assert.doesNotMatch(text, /<WORD/);
      if (!stream) assert.match(guard ?? '', /^mask=masked:\d; scanned=100%$/);
    });

    test(`a result that a guard blocks reaches no model, and ends the answer: ${how}`, async () => {
      const { status, text, turns } = await ask(format, 'block', 'zebrafish', stream);
      assert.equal(turns.length, 1);
      assert.match(text, /The guard 'block' does not let what a tool of this server brings pass/);
      if (!stream) assert.equal(status, 400, text);
      const [, first] = (await rows(2)).toSorted((one) => (one.client_request_id === null ? 1 : -1));
      assert.equal(first!.class, 'guard-blocked');
      // A tool of the caller has read the turn: free, each answer could end so.
      assert.equal(first!.units, 1);
    });
  }
}

const searchInMessages: Ask = (model, _, stream) => ({
  path: '/v1/messages',
  json: {
    model: `claude-${model}`,
    stream,
    max_tokens: 500,
    messages: asked('web_search'),
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
  },
});
for (const [format, order] of Object.entries({ ...formats, 'a search in Messages': searchInMessages })) {
  // Of a call in chat the caller sees the words of the model alone.
  if (format === 'chat') continue;
  const isSearch = format.startsWith('a search');
  const ways = [false, true].flatMap((stream) =>
    [['hears', 'stops'] as const, ['asks', 'asks-and-stops'] as const].map((guard) => ({ stream, guard })),
  );
  for (const { stream, guard } of ways) {
    const [masks, blocks] = guard;
    test(`guards of answers read what the caller sees of a result: ${format}, ${stream ? 'streamed' : 'whole'}, ${masks}`, async () => {
      const answered = async (model: string) => {
        upstream.clear();
        const { path, json } = order(model, 'fail', stream);
        upstream.script(path, ['ok', `text=${isSearch ? 'See 【1】.' : 'Done.'}`]);
        const response = await gateway.fetch(path, { method: 'POST', json });
        return { status: response.status, text: await response.text() };
      };
      const secret = isSearch ? /zebrafish\.example/ : /It did not work/;
      const masked = await answered(masks);
      assert.equal(masked.status, 200, masked.text);
      assert.doesNotMatch(masked.text, secret);
      assert.match(masked.text, /<WORD_\d>/);
      const stopped = await answered(blocks);
      assert.match(stopped.text, new RegExp(`The guard '${blocks}' does not let the answer pass`));
      assert.doesNotMatch(stopped.text, secret);
    });
  }
}

test('guards of answers read the list of a server that the caller sees', async () => {
  for (const guard of ['hears-definition', 'asks']) {
    const { status, text } = await ask('Responses', guard);
    assert.equal(status, 200, text);
    assert.match(text, /"name":"add","description":"<WORD_1>\."/);
  }
});

test('a guard flags a result, and one that routes refuses it: its model has begun', async () => {
  const flagged = await ask('chat', 'flag');
  assert.deepEqual([flagged.status, flagged.turns.length, flagged.guard], [200, 2, 'flag=flagged:1; scanned=100%']);
  const routed = await ask('chat', 'route');
  assert.deepEqual([routed.status, routed.turns.length], [400, 1]);
});

test('a result waits for a service that may block it', async () => {
  const blocked = await ask('chat', 'asks-of-results', 'fail');
  assert.deepEqual([blocked.status, blocked.turns.length], [400, 1], blocked.text);
  assert.match(blocked.text, /The guard 'asks-of-results' does not let/);
  const passed = await ask('chat', 'asks-of-results');
  assert.deepEqual([passed.status, passed.turns.length], [200, 2], passed.text);
});

test('a picture in a result is a part that no guard reads', async () => {
  const strict = await ask('chat', 'block', 'chart');
  assert.deepEqual([strict.status, strict.turns.length, strict.guard], [400, 1, 'block=pass; unscanned; scanned=50%']);
  const lenient = await ask('chat', 'lenient', 'chart');
  assert.deepEqual([lenient.status, lenient.turns.length], [200, 2]);
  assert.match(lenient.guard ?? '', /unscanned/);
});

test('descriptions of tools are read before the model is offered them', async () => {
  const blocked = await ask('chat', 'block-definition');
  assert.deepEqual([blocked.status, blocked.turns.length], [400, 0]);
  const masked = await ask('chat', 'mask-definition');
  assert.equal(masked.status, 200, masked.text);
  const { tools } = masked.turns[0]!.body as { tools: { function: JsonObject }[] };
  assert.deepEqual(
    tools.slice(0, 2).map((one) => [one.function.name, one.function.description]),
    [
      ['sums__add', '<WORD_1>.'],
      ['sums__large', 'Answers with so many characters.'],
    ],
  );
});

test('the server gets the values of a call, and the model gets back the words that it wrote', async () => {
  scripted.bodies = [];
  scripted.arguments = JSON.stringify({ chars: 3, to: '<EMAIL_1>' });
  const json = { model: 'email', messages: [{ role: 'user', content: 'Write to ann@example.org.' }], tools: [mcp] };
  const answer = await gateway.fetch('/v1/chat/completions', { json });
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
  assert.equal(choices[0]!.message.content, 'For ann@example.org:Done for ann@example.org.');
  const [first, second] = scripted.bodies;
  assert.doesNotMatch(JSON.stringify(first), /ann@/);
  assert.doesNotMatch(JSON.stringify(second), /ann@/);
  const [, turn, result] = second!.messages as JsonObject[];
  assert.equal(turn!.content, 'For <EMAIL_1>:');
  assert.deepEqual((turn!.tool_calls as { function: JsonObject }[])[0]!.function.arguments, scripted.arguments);
  assert.equal(result!.content, 'xxx');
});

test('the server gets the values of a call that its caller has approved', async () => {
  scripted.bodies = [];
  scripted.arguments = JSON.stringify({ chars: 3, to: '<EMAIL_1>' });
  const tools = [{ ...mcp, require_approval: 'always' }];
  const respond = async (json: object) => {
    const answer = await gateway.fetch('/v1/responses', { json: { model: 'email', tools, ...json } });
    assert.equal(answer.status, 200, await answer.clone().text());
    return (await answer.json()) as { id: string; output: JsonObject[] };
  };
  const args = '{"chars":3,"to":"ann@example.org"}';
  const asking = await respond({ input: 'Write to ann@example.org.' });
  const question = asking.output.find(({ type }) => type === 'mcp_approval_request');
  assert.equal(question?.arguments, args);
  const approval = { type: 'mcp_approval_response', approval_request_id: question?.id, approve: true };
  const { output } = await respond({ previous_response_id: asking.id, input: [approval] });
  const call = output.find(({ type }) => type === 'mcp_call');
  assert.deepEqual([call?.arguments, call?.output], [args, 'xxx']);
  assert.equal(scripted.bodies.length, 2);
  assert.doesNotMatch(JSON.stringify(scripted.bodies), /ann@/);
});

test('hooks change and refuse results, and name no other model any more', async () => {
  const changed = await ask('chat', 'hooked');
  assert.equal(changed.status, 200, changed.text);
  assert.match(results(changed.turns[1]), /Changed\./);
  const refused = await ask('chat', 'hooked', 'fail');
  assert.deepEqual([refused.status, refused.turns.length], [400, 1]);
  assert.match(refused.text, /No failures\./);
});
