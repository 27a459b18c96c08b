import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { type CallerId, callerIds, type UpstreamId, upstreamIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { upstreamFormats } from '../contract/dialect-matrix/upstreams.ts';
import { listening } from '../listening.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { explained } from './read-answer.ts';

/** A stream of a format in its pieces, each of which is one event. */
interface Pieces {
  opening: string;
  says: (text: string) => string;
  /** Why it stopped. */
  reason: string;
  end: string;
  /** A piece of content that was cut in its middle. */
  broken: string;
}

const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const named = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const candidate = (members: object) =>
  `data: ${JSON.stringify({ responseId: 'r', modelVersion: 'm', candidates: [{ index: 0, ...members }] })}\r\n\r\n`;
const part = (text: string) => ({ content: { role: 'model', parts: [{ text }] } });
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
const item = (status: string) => ({
  output_index: 0,
  item: { type: 'message', id: 'msg_1', role: 'assistant', status, content: [] },
});
const inItem = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const response = (status: string) => ({
  response: { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status, output: [] },
});

const pieces: Readonly<Record<UpstreamId, Pieces>> = {
  'openai-chat': {
    opening: chunk({ role: 'assistant', content: '' }, null),
    says: (content) => chunk({ content }, null),
    reason: chunk({}, 'stop'),
    end: 'data: [DONE]\n\n',
    broken: 'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"once"}\n\n',
  },
  'anthropic-messages': {
    opening:
      named('message_start', { message: { ...message, usage: { input_tokens: 3, output_tokens: 1 } } }) +
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    says: (text) => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    reason: named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
    end: named('message_stop', {}),
    broken:
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"once }"}\n\n',
  },
  'openai-responses': {
    opening:
      named('response.created', response('in_progress')) + named('response.output_item.added', item('in_progress')),
    says: (delta) => named('response.output_text.delta', { ...inItem, delta }),
    reason: named('response.output_item.done', item('completed')),
    end: named('response.completed', response('completed')),
    broken: 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"onc\n\n',
  },
  gemini: {
    opening: '',
    says: (text) => candidate(part(text)),
    reason: candidate({ finishReason: 'STOP' }),
    end: '',
    broken: 'data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"te\r\n\r\n',
  },
};

/** By which a client knows a whole answer. */
const endMarks: Readonly<Record<CallerId, string>> = {
  'openai-chat': '[DONE]',
  'anthropic-messages': '"message_stop"',
  'openai-responses': '"response.completed"',
  gemini: '"finishReason"',
};

interface StreamCase {
  name: string;
  of(upstream: UpstreamId): string;
  /** Nothing of it may reach the caller, or text did before it failed. */
  fails: 'before content' | 'after content';
  /** Callers for whom it is a fault; others get an answer without the line. */
  callers: 'all' | 'own format';
  upstreams: readonly UpstreamId[];
}

const ends = ['openai-chat', 'anthropic-messages'] as const;
const cases: readonly StreamCase[] = [
  {
    name: 'an end mark alone',
    of: (upstream) => pieces[upstream].end,
    fails: 'before content',
    callers: 'all',
    upstreams: ends,
  },
  {
    name: 'an end mark and no reason, nothing said',
    of: (upstream) => pieces[upstream].opening + pieces[upstream].end,
    fails: 'before content',
    callers: 'all',
    upstreams: ends,
  },
  {
    name: 'an end mark and no reason, after text',
    of: (upstream) => pieces[upstream].opening + pieces[upstream].says('Once') + pieces[upstream].end,
    fails: 'after content',
    callers: 'all',
    upstreams: ends,
  },
  {
    name: 'an event that is cut, before content',
    of: (upstream) => broken(upstream, 0),
    fails: 'before content',
    callers: 'own format',
    upstreams: upstreamIds,
  },
  {
    name: 'an event that is cut, after content',
    of: (upstream) => broken(upstream, 2),
    fails: 'after content',
    callers: 'own format',
    upstreams: upstreamIds,
  },
  {
    name: 'a page of HTML, after content',
    of: (upstream) =>
      `${pieces[upstream].opening}${pieces[upstream].says('Once')}data: <html><body>502 Bad Gateway</body></html>\n\n`,
    fails: 'after content',
    callers: 'own format',
    upstreams: upstreamIds,
  },
];

/** A whole stream with one such event, after as many pieces of text. */
function broken(upstream: UpstreamId, after: 0 | 2): string {
  const { opening, says, reason, end, broken: cut } = pieces[upstream];
  const text = says('Once') + says(' upon');
  return after === 0 ? opening + cut + text + reason + end : opening + text + cut + says(' a time') + reason + end;
}

for (const upstream of upstreamIds) {
  test(`F12 over ${upstream}: a stream without a reason or with a broken event never ends as if it were whole`, async (t) => {
    const own = cases.filter(({ upstreams }) => upstreams.includes(upstream));
    const { gateway, asked } = await start(t, upstream, own);
    for (const [index, one] of own.entries()) {
      for (const caller of one.callers === 'all' ? callerIds : [upstream]) {
        await t.test(`${one.name}: ${caller}`, async () => {
          asked.splice(0);
          await held(gateway, caller, `case-${index}-${caller}`, one.fails);
          const both = [`/case-${index}-${caller}`, '/spare'];
          assert.deepEqual(asked, one.fails === 'before content' ? both : both.slice(0, 1));
        });
      }
    }
  });
}

async function held(gateway: TestGateway, caller: CallerId, model: string, fails: StreamCase['fails']): Promise<void> {
  const format = callerFormats[caller];
  const json = format.body(model, { say: 'Hello', maxTokens: 64 }, 'stream');
  const answer = await gateway.fetch(format.path(model, 'stream'), { json });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const clean = text.includes(endMarks[caller]);
  const failed = /"error":\s*\{/.test(text);
  if (fails === 'before content') {
    assert.deepEqual([clean, failed], [true, false], text);
    assert.ok(text.includes('Spare') && !text.includes('Once'), text);
    return;
  }
  assert.deepEqual([clean, failed], [false, true], text);
  assert.ok(text.includes('Once') && !text.includes('<html>'), text);
  const { route } = await explained(gateway, answer);
  assert.match(route.attempts[0]!.class, /^(malformed|truncated)$/);
}

test('a stream whose Content-Type is the default of a web framework reaches callers of every format', async (t) => {
  const { opening, says, reason, end } = pieces['openai-chat'];
  const types = ['text/plain; charset=utf-8', 'application/octet-stream'];
  const server = createServer((request, answer) => {
    const type = types[Number(request.url!.split('/')[1])] ?? '';
    request.resume().on('end', () => {
      answer.writeHead(200, { 'content-type': type }).end(opening + says('Once') + reason + end);
    });
  });
  const url = await listening(t, server);
  const gateway = await startGateway(t, {
    providers: Object.fromEntries(
      types.map((_, index) => [`up-${index}`, { type: 'openai', base_url: `${url}/${index}/v1`, api_key: 'x' }]),
    ),
    models: Object.fromEntries(types.map((_, index) => [`model-${index}`, { targets: [`up-${index}/m`] }])),
  });
  for (const [index, type] of types.entries()) {
    for (const caller of callerIds) {
      const format = callerFormats[caller];
      const model = `model-${index}`;
      const json = format.body(model, { say: 'Hello', maxTokens: 64 }, 'stream');
      const answer = await gateway.fetch(format.path(model, 'stream'), { json });
      const text = await answer.text();
      assert.equal(answer.status, 200, `${type}, ${caller}: ${text}`);
      assert.ok(text.includes('Once') && text.includes(endMarks[caller]), `${type}, ${caller}: ${text}`);
    }
  }
});

async function start(
  t: TestContext,
  upstream: UpstreamId,
  own: readonly StreamCase[],
): Promise<{ gateway: TestGateway; asked: string[] }> {
  const asked: string[] = [];
  const { opening, says, reason, end } = pieces[upstream];
  const server = createServer((request, answer) => {
    request.resume().on('end', () => {
      const place = request.url!.split('/')[1]!;
      if (request.method !== 'POST') return answer.writeHead(404).end();
      asked.push(`/${place}`);
      const index = Number(place.split('-')[1]);
      const body = place === 'spare' ? opening + says('Spare') + reason + end : own[index]!.of(upstream);
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
    });
  });
  const url = await listening(t, server);
  const { provider, model } = upstreamFormats[upstream];
  // Each caller has a provider of its own: what one does to its health is nothing to the next.
  const names = own.flatMap((_, index) => callerIds.map((caller) => `case-${index}-${caller}`));
  const gateway = await startGateway(t, {
    providers: Object.fromEntries([...names, 'spare'].map((name) => [name, provider(`${url}/${name}`)])),
    models: Object.fromEntries(
      names.map((name) => [
        name,
        {
          targets: [
            { provider: name, model, priority: 1 },
            { provider: 'spare', model, priority: 2 },
          ],
        },
      ]),
    ),
  });
  return { gateway, asked };
}
