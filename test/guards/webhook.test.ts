import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { checkConfigText } from '../../src/config/check.ts';
import { redact } from '../../src/config/redact.ts';
import { adminKey, otherKey, startGateway, testProcesses, workersKnow } from '../start-gateway.ts';
import { textsOf } from '../steps/texts-of.ts';
import { until } from '../until.ts';
import { type Play, startService } from './start-service.ts';

const secret = 'whsec_c2VjcmV0LW9mLWEtZ3VhcmQtd2hpY2gtc2lnbnM=';
const service = await startService(after);

/** An upstream that answers in pieces; `hold` makes it wait before its first one. */
let pieces: string[] = [];
let hold: Promise<unknown> = Promise.resolve();
let answered: Promise<unknown> = Promise.resolve();
const bodies: string[] = [];
let aborted = 0;
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (request.method === 'POST') bodies.push(body);
  response.on('close', () => {
    if (!response.writableFinished) aborted += 1;
  });
  await hold;
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const head = { id: 'c', created: 1, model: 'm' };
  if (request.url?.endsWith('/embeddings')) {
    json(response, { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [1] }], usage });
    return;
  }
  const masked = /<[A-Z]+_\d+>/.exec(body)?.[0];
  const said = masked === undefined ? pieces : [`To ${masked}.`];
  const isText = request.url?.endsWith('/v1/completions') && !request.url.includes('chat');
  if (!/"stream": ?true/.test(body)) {
    const message = { role: 'assistant', content: said.join('') };
    const choice = { index: 0, finish_reason: 'stop', ...(isText ? { text: said.join('') } : { message }) };
    json(response, { ...head, object: isText ? 'text_completion' : 'chat.completion', choices: [choice], usage });
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const send = (delta: object, finish_reason: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, ...(isText ? delta : { delta }), finish_reason }] })}\n\n`,
    );
  for (const piece of said) send(isText ? { text: piece } : { content: piece });
  await answered;
  send(isText ? { text: '' } : {}, 'stop');
  response.end('data: [DONE]\n\n');
});
function json(response: ServerResponse, body: object) {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => {
  upstream.closeAllConnections();
  upstream.close();
});
const { port } = upstream.address() as AddressInfo;

const targets = [{ provider: 'openai', model: 'm' }];
const hook = { check: 'webhook', url: `${service.url}/guard`, secret, deadline: '20s' };
const guards = {
  blocks: { ...hook, action: 'block', on: ['input'] },
  masks: { ...hook, action: 'mask' },
  flags: { ...hook, action: 'flag', on: ['input'] },
  routes: { ...hook, action: 'route', route_to: 'plain', on: ['input'] },
  observes: { ...hook, action: 'block', mode: 'observe', on: ['input'] },
  answers: { ...hook, action: 'block', on: ['output'] },
  hasty: { ...hook, action: 'block', deadline: '1ms', on: ['input'] },
  lenient: { ...hook, action: 'block', on: ['input'], on_error: 'allow' },
  strict: { ...hook, action: 'block', on: ['input'] },
  dead: { ...hook, action: 'block', on: ['input'], on_error: 'allow' },
};
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'k' } },
  guards,
  models: {
    plain: { targets },
    embed: { type: 'embedding', targets, guards: ['blocks'] },
    cached: { targets, guards: ['blocks', 'answers'], cache: { ttl: '1h' } },
    ...Object.fromEntries(Object.keys(guards).map((name) => [name, { targets, guards: [name] }])),
  },
});

beforeEach(() => {
  service.calls.length = 0;
  bodies.length = 0;
  aborted = 0;
  pieces = ['Hello there.'];
  hold = Promise.resolve();
  answered = Promise.resolve();
});

const formats: Record<string, (model: string, text: string, stream: boolean) => [path: string, json: object]> = {
  chat: (model, content, stream) => ['/v1/chat/completions', { model, stream, messages: [{ role: 'user', content }] }],
  messages: (model, content, stream) => [
    '/v1/messages',
    { model, stream, max_tokens: 9, messages: [{ role: 'user', content }] },
  ],
  responses: (model, input, stream) => ['/v1/responses', { model, stream, input }],
  gemini: (model, text, stream) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text }] }] },
  ],
};

async function ask(format: string, model: string, stream: boolean, text = 'a question') {
  const [path, json] = formats[format]!(model, text, stream);
  const response = await gateway.fetch(path, { json });
  const body = await response.text();
  const { status, headers } = response;
  return { status, text: body, said: textsOf(body, stream), guard: headers.get('x-culvert-guard'), headers };
}

const pass: Play = () => ({ verdict: 'pass' });
const block: Play = () => ({ verdict: 'block' });
/** Masks the word `Jo` of each text. */
const maskJo: Play = ({ body }) => {
  const { texts } = JSON.parse(body) as { texts: { text: string }[] };
  const findings = texts.flatMap(({ text }, index) => {
    const at = Array.from(text.slice(0, text.indexOf('Jo'))).length;
    return text.includes('Jo') ? [{ kind: 'name', text: index, start: at, end: at + 2 }] : [];
  });
  return findings.length === 0 ? { verdict: 'pass' } : { verdict: 'mask', findings };
};

/** A play that answers when it is released. */
function held(play: Play): { play: Play; release(): void } {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { play: async (call) => released.then(() => play(call)), release: () => release() };
}

test('a webhook gets id, direction, model and texts, signed as Standard Webhooks', async () => {
  service.play = pass;
  const { status, guard, headers } = await ask('chat', 'blocks', false, 'Grüße 🙂');
  assert.equal(status, 200);
  assert.equal(guard, 'blocks=pass; scanned=100%');
  const [call] = service.calls;
  assert.equal(call!.path, '/guard');
  assert.deepEqual(JSON.parse(call!.body), {
    id: headers.get('x-culvert-request-id'),
    on: 'input',
    model: 'blocks',
    texts: [{ part: 'user', text: 'Grüße 🙂' }],
  });
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = call!.headers;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const right = createHmac('sha256', key).update(`${id}.${at}.${call!.body}`).digest('base64');
  assert.equal(signature, `v1,${right}`);
  assert.match(String(id), /^msg_/);
});

for (const format of Object.keys(formats)) {
  for (const stream of [false, true]) {
    const how = `${format}, ${stream ? 'streamed' : 'whole'}`;
    test(`a block ends the call of the upstream, and answers as the format does: ${how}`, async () => {
      service.play = block;
      hold = new Promise(() => {});
      const { status, text, guard } = await ask(format, 'blocks', stream);
      assert.equal(status, 400, text);
      assert.match(text, /guard_blocked/);
      assert.match(text, /"The guard 'blocks' does not let the request pass/);
      assert.equal(guard, 'blocks=blocked:1; scanned=100%');
      await until('the upstream is left', () => aborted === bodies.length);
    });
    test(`a mask is made before the upstream is asked, and given back: ${how}`, async () => {
      service.play = maskJo;
      const { status, text, said, guard } = await ask(format, 'masks', stream, '🙂 I am Jo');
      assert.equal(status, 200, text);
      assert.ok(bodies[0]!.includes('I am <NAME_1>'), bodies[0]);
      assert.ok(said.includes('To Jo.'), said);
      assert.equal(guard, 'masks=masked:1; scanned=100%');
    });
    test(`an answer is judged before it is shown: ${how}`, async () => {
      pieces = ['This is fine. ', 'This is b', 'ad. And so on.'];
      service.play = ({ body }) => ({ verdict: body.includes('bad') ? 'block' : 'pass' });
      const { status, text, said } = await ask(format, 'answers', stream);
      assert.ok(!said.includes('is bad'), text);
      if (stream && status === 200) {
        assert.ok(said.includes('This is fine. '), said);
        assert.match(text, /content_filter|refusal|SAFETY/i);
      } else assert.ok(status === 400 && /guard_blocked/.test(text), text);
      // On a busy machine the pieces of a stream may be read together.
      assert.ok(stream ? [1, 2].includes(service.calls.length) : service.calls.length === 1, `${service.calls.length}`);
      const { on, texts } = JSON.parse(service.calls[0]!.body);
      assert.equal(on, 'output');
      assert.equal(texts[0].part, 'assistant');
    });
    test(`a value that only the answer has stays masked: ${how}`, async () => {
      pieces = ['Ask J', 'o about', ' it.'];
      service.play = maskJo;
      const { said } = await ask(format, 'masks', stream);
      assert.ok(said.includes('Ask <NAME_1> about it.'), said);
    });
  }
}

test('the upstream is asked at once, and its first token waits for the verdict', async () => {
  const { play, release } = held(pass);
  service.play = play;
  const [path, json] = formats.chat!('blocks', 'a question', true);
  let headers = false;
  const answer = gateway.fetch(path, { json }).then((response) => {
    headers = true;
    return response;
  });
  await until('both are asked', () => bodies.length === 1 && service.calls.length === 1);
  // The upstream has answered whole by the time that another request is through.
  await ask('chat', 'plain', true);
  assert.equal(headers, false);
  release();
  const response = await answer;
  assert.equal(response.headers.get('x-culvert-guard'), 'blocks=pass; scanned=100%');
  assert.match(await response.text(), /Hello there\./);
});

test('an answer that comes faster than its caller reads it comes whole behind a verdict', async () => {
  service.play = pass;
  pieces = Array.from({ length: 80 }, (_, at) => `${at} ${'word '.repeat(40_000)}. `);
  const [path, json] = formats.chat!('blocks', 'a question', true);
  const response = await gateway.fetch(path, { json });
  // Meanwhile the buffers of both connections fill.
  await sleep(300);
  const said = textsOf(await response.text(), true);
  assert.deepEqual(
    pieces.filter((piece) => !said.includes(piece)),
    [],
  );
});

test('a verdict that is there before the first token adds no wait: the first sentence comes as it is', async () => {
  service.play = pass;
  let begin = () => {};
  let end = () => {};
  hold = new Promise<void>((resolve) => {
    begin = resolve;
  });
  answered = new Promise<void>((resolve) => {
    end = resolve;
  });
  const [path, json] = formats.chat!('blocks', 'a question', true);
  const answer = gateway.fetch(path, { json });
  await until('both are asked', () => bodies.length === 1 && service.calls.length === 1);
  begin();
  const reader = (await answer).body!.getReader();
  let text = '';
  // The upstream has not ended: nothing is held any more.
  while (!text.includes('Hello there.')) text += Buffer.from((await reader.read()).value ?? []).toString();
  end();
  await reader.cancel();
});

for (const [name, play] of [
  ['an error', () => ({ status: 500 })],
  ['no JSON', () => 'yes'],
  ['no verdict', () => ({ ok: true })],
  ['a finding without a place', () => ({ verdict: 'mask', findings: [{ kind: 'x' }] })],
] as const) {
  test(`an answer that says nothing does what on_error says: ${name}`, async () => {
    service.play = play;
    const denied = await ask('chat', 'strict', false);
    assert.equal(denied.status, 503, denied.text);
    assert.match(denied.text, /The service that the guard 'strict' asks gave no answer/);
    assert.ok(!denied.text.includes(service.url));
    const allowed = await ask('chat', 'lenient', false);
    assert.equal(allowed.status, 200, allowed.text);
    assert.equal(allowed.guard, 'lenient=unanswered:1; unscanned; scanned=0%');
    service.play = pass;
    await ask('chat', 'strict', false);
    await ask('chat', 'lenient', false);
  });
}

test('a service that is too slow does what on_error says', async () => {
  const { play, release } = held(pass);
  service.play = play;
  const { status, text, guard } = await ask('chat', 'hasty', true);
  release();
  assert.equal(status, 503, text);
  assert.equal(guard, 'hasty=unanswered:1; unscanned; scanned=0%');
});

test('questions of one tenant leave the service to those of another', async () => {
  const { play, release } = held(pass);
  service.play = play;
  const [path, json] = formats.chat!('blocks', 'of many', false);
  const many = Array.from({ length: 100 }, async () => (await gateway.fetch(path, { json })).status);
  const asked = (word: string) => service.calls.filter(({ body }) => body.includes(word)).length;
  await until('the questions of one tenant are asked', () => asked('of many') >= 40);
  const [, other] = formats.chat!('blocks', 'of another', false);
  const answer = gateway.fetch(path, { json: other, headers: { authorization: `Bearer ${otherKey}` } });
  await until('the question of another tenant is asked, too', () => asked('of another') === 1);
  // Each worker asks so many at once.
  assert.ok(asked('of many') < 64 * testProcesses, `${asked('of many')} at once`);
  release();
  assert.equal((await answer).status, 200);
  assert.deepEqual(new Set(await Promise.all(many)), new Set([200]), 'those that waited are asked');
});

test('a finding across the end of a sentence is found, though the sentences come one by one', async () => {
  const across = 'Ask Dr. Jo';
  service.play = ({ body }) => {
    const [{ text }] = JSON.parse(body).texts as [{ text: string }];
    const at = text.indexOf(across);
    const findings = at < 0 ? [] : [{ kind: 'name', text: 0, start: at, end: at + across.length }];
    return findings.length === 0 ? { verdict: 'pass' } : { verdict: 'mask', findings };
  };
  pieces = ['Here I am. Ask Dr. ', `Jo about it. ${'And so on. '.repeat(30)}`];
  const { said } = await ask('chat', 'masks', true, 'hello');
  // Pieces may be read together.
  assert.ok(service.calls.length >= 2 && !said.includes('Jo'), said);
  assert.equal(said.split('<NAME_1>').length, 2, said);
  assert.ok(!said.includes('<NAME_2>'), said);
});

test('a log line says why a service gave no answer, once a minute, without its secret or the text', async (t) => {
  const lines: { level: number; guard?: string; reason?: string }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const closed = { ...hook, url: 'http://127.0.0.1:1/guard', action: 'block', on: ['input'], on_error: 'allow' };
  const logged = await startGateway(
    t,
    {
      providers: { openai: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'k' } },
      guards: { dead: guards.dead, hasty: guards.hasty, closed },
      models: Object.fromEntries(['dead', 'hasty', 'closed'].map((name) => [name, { targets, guards: [name] }])),
    },
    { log },
  );
  const reasonOf = async (guard: string, play: Play) => {
    service.play = play;
    for (const _ of [1, 2]) {
      const [path, json] = formats.chat!(guard, 'my private words', false);
      await (await logged.fetch(path, { json })).text();
    }
    const found = lines.filter((line) => line.guard === guard);
    assert.equal(found.length, 1, JSON.stringify(lines));
    assert.equal(found[0]?.level, 40);
    return found[0]?.reason ?? '';
  };
  assert.equal(await reasonOf('dead', ({ body }) => `no, ${body}`), 'its answer is not JSON');
  assert.match(await reasonOf('closed', pass), /^no connection or no whole answer \(/);
  const { play, release } = held(pass);
  assert.match(await reasonOf('hasty', play), /timed-out|deadline/);
  release();
  const text = JSON.stringify(lines);
  assert.ok(!text.includes('private') && !text.includes('c2VjcmV0'), text);
});

test('a dead service is not asked again and again', async () => {
  service.play = () => ({ status: 500 });
  for (let count = 0; count < 30; count++) {
    const { guard } = await ask('chat', 'dead', false);
    assert.equal(guard, 'dead=unanswered:1; unscanned; scanned=0%');
  }
  // Each worker learns it.
  assert.ok(service.calls.length >= 5 && service.calls.length <= 5 * testProcesses, `${service.calls.length} calls`);
});

test('flag, route and observe', async () => {
  service.play = block;
  assert.equal((await ask('chat', 'flags', false)).guard, 'flags=flagged:1; scanned=100%');
  assert.equal((await ask('chat', 'routes', false)).guard, 'routes=routed:1; scanned=100%');
  const observed = await ask('chat', 'observes', true);
  assert.equal(observed.status, 200);
  assert.equal(observed.guard, 'observes=would-be-blocked:1; scanned=100%');
  service.play = () => ({ verdict: 'flag' });
  const flagged = await ask('chat', 'blocks', false);
  assert.deepEqual([flagged.status, flagged.guard], [200, 'blocks=flagged:1; scanned=100%']);
});

test('families without a stream wait before they ask, and answers of other families are judged too', async () => {
  service.play = block;
  const embedding = await gateway.fetch('/v1/embeddings', { json: { model: 'embed', input: 'a question' } });
  assert.equal(embedding.status, 400);
  assert.equal(bodies.length, 0);
  for (const stream of [false, true]) {
    const ask = (model: string) => gateway.fetch('/v1/completions', { json: { model, prompt: 'a question', stream } });
    const refused = await ask('answers');
    const text = await refused.text();
    assert.ok(refused.status === 400 && !text.includes('Hello'), text);
    service.play = maskJo;
    pieces = ['I am', ' J', 'o.'];
    assert.match(textsOf(await (await ask('masks')).text(), stream), /I am <NAME_1>\./);
    service.play = block;
  }
});

test('a kept answer is given after both verdicts', async () => {
  service.play = pass;
  const first = await ask('chat', 'cached', false, 'keep this');
  assert.equal(first.status, 200);
  await workersKnow();
  const hit = await ask('chat', 'cached', true, 'keep this');
  assert.match(hit.headers.get('x-culvert-cache') ?? '', /^hit/);
  assert.equal(service.calls.length, 4);
  service.play = block;
  assert.equal((await ask('chat', 'cached', false, 'keep this')).status, 400);
  service.play = ({ body }) => ({ verdict: body.includes('"output"') ? 'block' : 'pass' });
  assert.equal((await ask('chat', 'cached', false, 'keep this')).status, 400);
  assert.equal(bodies.length, 1);
});

test('a request that is blocked after its dispatch costs what a blocked answer costs', async () => {
  const cost = async (model: string) => {
    const { status, headers } = await ask('chat', model, false);
    assert.equal(status, 400);
    const id = headers.get('x-culvert-request-id');
    let row: { cost?: unknown; class?: string; delivered?: unknown } = {};
    await until('the record is written', async () => {
      const found = await fetch(`${gateway.url}/admin/v1/requests/${id}`, {
        headers: { authorization: `Bearer ${adminKey}` },
      });
      row = (await found.json()) as typeof row;
      return found.status === 200;
    });
    return row;
  };
  service.play = block;
  const [input, output] = [await cost('blocks'), await cost('answers')];
  assert.deepEqual([input.cost, input.delivered], [output.cost, output.delivered], JSON.stringify([input, output]));
});

test('the connection to the service is kept', async () => {
  service.play = pass;
  await ask('chat', 'blocks', false);
  const before = service.connections;
  for (let count = 0; count < 5; count++) await ask('chat', 'blocks', false);
  assert.equal(service.connections, before);
});

test('a bad webhook is refused with line and column, and a good one hides its secrets', () => {
  const problems = (written: string) => {
    const checked = checkConfigText(written, 'culvert.yaml', {});
    return checked.ok ? [] : checked.errors.map(({ line, path, message }) => `${line} ${path}: ${message}`);
  };
  const one = (guard: string) => problems(`guards:\n  ours: { ${guard} }`)[0] ?? '';
  assert.match(one('check: webhook, action: block'), /^2 guards\.ours\.check: the check webhook needs url/);
  assert.match(one('check: secrets, url: "https://a.example/x", action: block'), /guards\.ours\.url: .* has no url/);
  assert.match(one('check: webhook, url: "https://a.example/x", secret: short, action: block'), /at least 32 bytes/);
  const written = `guards: { ours: { check: webhook, url: "https://a.example/path", secret: "\${HOOK}", action: block } }`;
  const checked = checkConfigText(written, 'culvert.yaml', { HOOK: secret });
  assert.ok(checked.ok);
  const shown = JSON.stringify(redact(checked.config));
  assert.ok(!shown.includes(secret), shown);
});

test('questions of one account that fail leave the service to those of another', async () => {
  service.play = ({ body }) => (body.includes('too odd') ? { status: 400 } : { verdict: 'pass' });
  for (let count = 0; count < 6; count++) await ask('chat', 'lenient', false, 'too odd');
  const [path, json] = formats.chat!('lenient', 'hello', false);
  const other = await gateway.fetch(path, { json, headers: { authorization: `Bearer ${otherKey}` } });
  assert.equal(other.headers.get('x-culvert-guard'), 'lenient=pass; scanned=100%', await other.text());
});
