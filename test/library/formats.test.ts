import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  asTransformStream,
  type Body,
  type CallerFormat,
  callerFormats,
  convertAnswer,
  convertError,
  convertRequest,
  convertStream,
  FormatError,
  providerFormats,
} from '../../src/library/formats.ts';
import { messageOf } from '../upstream-formats/start-aws.ts';

/* `culvert-gateway/formats`, as an application uses it that has no gateway. */

const question = 'What is 2 + 2?';
const requests: Readonly<Record<CallerFormat, Body>> = {
  'openai-chat': { model: 'alias', messages: [{ role: 'user', content: question }], temperature: 0.5 },
  'openai-responses': { model: 'alias', input: question, temperature: 0.5 },
  'anthropic-messages': {
    model: 'alias',
    max_tokens: 50,
    messages: [{ role: 'user', content: question }],
    temperature: 0.5,
  },
  gemini: { contents: [{ role: 'user', parts: [{ text: question }] }], generationConfig: { temperature: 0.5 } },
  'cohere-chat': { model: 'alias', messages: [{ role: 'user', content: question }], temperature: 0.5 },
  ollama: { model: 'alias', messages: [{ role: 'user', content: question }], options: { temperature: 0.5 } },
};

const messagesStream = [
  [
    'message_start',
    { message: { id: 'msg_1', role: 'assistant', model: 'claude', usage: { input_tokens: 8, output_tokens: 1 } } },
  ],
  ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
  ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Four – ' } }],
  ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: '4.' } }],
  ['content_block_stop', { index: 0 }],
  ['message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 6 } }],
  ['message_stop', {}],
]
  .map(([type, data]) => `event: ${String(type)}\ndata: ${JSON.stringify({ type, ...(data as object) })}\n\n`)
  .join('');
const messagesAnswer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Four – 4.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 8, output_tokens: 6 },
};

for (const from of callerFormats) {
  test(`a request of ${from} can be said in each format of a provider, and stays as it was`, () => {
    for (const to of providerFormats) {
      const body = structuredClone(requests[from]);
      const { body: made, answer } = convertRequest(from, to, body, { model: 'their-model' });
      assert.deepEqual(body, requests[from]);
      const text = JSON.stringify(made);
      assert.ok(text.includes(question) && text.includes('0.5'), `${from} → ${to}: ${text}`);
      // Google and Bedrock have it in the path.
      if (to !== 'gemini' && to !== 'bedrock-converse') assert.equal(made.model, 'their-model');
      assert.deepEqual(JSON.parse(JSON.stringify(answer)), answer);
    }
  });

  test(`an answer is the same for a caller of ${from}, whole, streamed, and cut at every byte`, () => {
    const { answer } = convertRequest(from, 'anthropic-messages', requests[from]);
    const whole = JSON.stringify(convertAnswer('anthropic-messages', from, messagesAnswer, { answer }).body);
    assert.match(whole, /Four – 4\./);
    const atOnce = convertStream('anthropic-messages', from, { answer });
    const text = atOnce.push(messagesStream) + atOnce.end();
    const cut = convertStream('anthropic-messages', from, { answer });
    let pieces = '';
    for (const byte of Buffer.from(messagesStream)) pieces += cut.push(Uint8Array.of(byte));
    pieces += cut.end();
    const timeless = (frames: string) => frames.replaceAll(/"(?:created_at|total_duration|eval_duration)":[^,}]*/g, '');
    assert.equal(timeless(pieces), timeless(text));
    assert.ok(text.includes('Four – ') && text.includes('4.'), text);
    assert.equal(cut.failed, null);
    assert.equal(cut.contentType, from === 'ollama' ? 'application/x-ndjson' : 'text/event-stream');
  });
}

test('what a format cannot say is listed in the words of the format that it came from', () => {
  const chat = { ...requests['openai-chat'], seed: 7, top_p: 0.5 };
  assert.deepEqual(convertRequest('openai-chat', 'anthropic-messages', chat).dropped, [
    { field: 'seed', why: 'unsupported' },
  ]);
  const gemini = { ...requests.gemini, generationConfig: { seed: 7 } };
  const { dropped } = convertRequest('gemini', 'anthropic-messages', gemini, { model: 'claude' });
  assert.deepEqual(dropped, [{ field: 'generationConfig.seed', why: 'unsupported' }]);
  const omitted = convertRequest('openai-chat', 'cohere-chat', requests['openai-chat'], { omit: ['temperature'] });
  assert.deepEqual(omitted.dropped, [{ field: 'temperature', why: 'unsupported' }]);
});

const searched = (more: object, message: object = {}) => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', ...more },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Blue.', ...message }, finish_reason: 'stop' }],
});
const annotationsIn = ({ body }: { body: Body }) =>
  (body.choices as unknown as [{ message: { annotations?: Body[] } }])[0].message.annotations;

test('a source in a message comes back as it was, with members of its provider alone', () => {
  const page = { url: 'https://a.example', title: 'A', content: 'Grass is blue.', start_index: 0, end_index: 5 };
  const annotations = [{ type: 'url_citation', url_citation: page }];
  const answer = convertAnswer('openai-chat', 'openai-chat', searched({}, { annotations }));
  assert.deepEqual(annotationsIn(answer), annotations);
});

test('pages that are listed outside the choices become sources of the message', () => {
  const citations = ['https://a.example', 'https://b.example'];
  const results = [{ url: 'https://a.example', title: 'A', date: '2025-01-01' }, { title: 'no address' }];
  const pages = (more: object) =>
    annotationsIn(convertAnswer('openai-chat', 'openai-chat', searched(more)))?.map(({ url_citation: page }) => {
      const { url, title } = page as Body;
      return [url, title];
    });
  assert.deepEqual(pages({ citations, search_results: results }), [['https://a.example', 'A']]);
  assert.deepEqual(
    pages({ citations }),
    citations.map((url) => [url, '']),
  );
  assert.equal(pages({ citations: 'none', search_results: [] }), undefined);
});

test('a converter of streams lists what the format of its caller cannot say', () => {
  const parts = [{ text: 'It rains.' }, { executableCode: { language: 'PYTHON', code: '1' } }];
  const chunk = { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] };
  const stream = convertStream('gemini', 'openai-chat');
  assert.deepEqual(stream.dropped, []);
  const frames = stream.push(`data: ${JSON.stringify(chunk)}\n\n`) + stream.end();
  assert.match(frames, /It rains\./);
  assert.deepEqual(stream.dropped, [{ field: 'executableCode', why: 'unsupported' }]);
});

test('a request in the format of its provider keeps every field', () => {
  const body = {
    ...requests['anthropic-messages'],
    thinking: { type: 'enabled', budget_tokens: 1024 },
    max_tokens: 2000,
    temperature: 1,
  };
  const made = convertRequest('anthropic-messages', 'anthropic-messages', body, { model: 'claude' });
  assert.deepEqual(made.body, { ...body, model: 'claude' });
  assert.deepEqual(made.dropped, []);
});

test('tools that a provider cannot name come back with the names of the caller', () => {
  const name = 'a_tool_of_a_server_with_a_very_long_name_that_no_provider_but_one_takes_as_it_is';
  const body = { ...requests['anthropic-messages'], tools: [{ name, input_schema: { type: 'object' } }] };
  const { body: made, answer } = convertRequest('anthropic-messages', 'openai-chat', body);
  const sent = (made.tools as [{ function: { name: string } }])[0].function.name;
  assert.notEqual(sent, name);
  const call = { id: 'call_1', type: 'function', function: { name: sent, arguments: '{}' } };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const chat = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
  };
  const { body: told } = convertAnswer('openai-chat', 'anthropic-messages', chat, { answer });
  assert.equal((told.content as [{ name: string }])[0].name, name);
});

test('bodies that a format refuses, and meanings that another cannot say, are errors that name the field', () => {
  const refused = (convert: () => unknown, param: string | null, message: RegExp, status = 400) =>
    assert.throws(convert, (error) => {
      assert.ok(error instanceof FormatError, String(error));
      assert.equal(error.param, param);
      assert.equal(error.status, status);
      assert.match(error.message, message);
      return true;
    });
  const { messages: _, ...without } = requests['openai-chat'];
  refused(() => convertRequest('openai-chat', 'gemini', without), 'messages', /Missing 'messages'/);
  const url = { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } };
  const picture = { model: 'm', messages: [{ role: 'user', content: [url] }] };
  refused(() => convertRequest('openai-chat', 'gemini', picture), 'messages[0].content[0]', /inline only/);
  for (const body of [null, 'text', [], 7] as unknown as Body[]) {
    refused(() => convertRequest('openai-chat', 'gemini', body), null, /must be a JSON object/);
    refused(() => convertAnswer('openai-chat', 'gemini', body), null, /must be a JSON object/);
  }
  refused(() => convertRequest('morse' as CallerFormat, 'gemini', {}), null, /'morse' is no format of an application/);
  refused(() => convertAnswer('ollama' as never, 'gemini', {}), null, /'ollama' is no format of a provider/);
  let deep: Body = {};
  for (let level = 0; level < 1_000; level += 1) deep = { deep };
  refused(
    () => convertRequest('openai-chat', 'gemini', { ...requests['openai-chat'], metadata: deep }),
    null,
    /nests deeper/,
  );
  const error = { error: { message: 'out of credit', type: 'insufficient_quota' } };
  refused(() => convertAnswer('openai-chat', 'gemini', error), null, /^openai-chat: .*out of credit/, 502);
});

test('a stream that breaks off ends with an error in the format of its caller', () => {
  const half = messagesStream.slice(0, messagesStream.indexOf('event: message_delta'));
  for (const to of callerFormats) {
    const stream = convertStream('anthropic-messages', to);
    const told = stream.push(half) + stream.end();
    assert.match(told, /ended without message_stop/, to);
    assert.match(stream.failed ?? '', /ended without message_stop/);
    assert.equal(stream.push('data: {}\n\n') + stream.end(), '');
  }
  const overloaded =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n';
  const stream = convertStream('anthropic-messages', 'openai-chat');
  assert.match(stream.push(overloaded), /Overloaded/);
});

test('an error of a provider is told in the format of the caller', () => {
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const told = convertError('anthropic-messages', 'gemini', error, { status: 529 });
  assert.equal((told.error as { status: string }).status, 'UNAVAILABLE');
  const plain = convertError('anthropic-messages', 'openai-chat', '<html>');
  assert.match((plain.error as { message: string }).message, /without a message/);
});

test('a converter stands between two streams', async () => {
  const bytes = new Blob([messagesStream])
    .stream()
    .pipeThrough(asTransformStream(convertStream('anthropic-messages', 'openai-chat')));
  assert.match(await new Response(bytes).text(), /Four – [\s\S]*\[DONE\]\n\n$/);
});

test('what the format of the caller has no place for is listed of a whole answer and of a stream', () => {
  const parts = [{ text: 'See.' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }];
  const candidates = [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }];
  const body = { candidates, usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } };
  const lost = [{ field: 'images', why: 'unsupported' }];
  assert.deepEqual(convertAnswer('gemini', 'ollama', body).dropped, lost);
  const stream = convertStream('gemini', 'ollama');
  assert.deepEqual(stream.dropped, []);
  assert.match(stream.push(`data: ${JSON.stringify(body)}\n\n`) + stream.end(), /See\./);
  assert.deepEqual(stream.dropped, lost);
});

test('the answer of an asked model that counts nothing has an estimate as its usage', () => {
  const { answer } = convertRequest('openai-chat', 'anthropic-messages', requests['openai-chat']);
  const { usage: _, ...uncounted } = messagesAnswer;
  const { usage } = convertAnswer('anthropic-messages', 'openai-chat', uncounted, { answer }).body;
  assert.ok((usage as { prompt_tokens: number }).prompt_tokens > 0);
});

test('binary frames of Bedrock become a stream of the caller', () => {
  const frame = (type: string, payload: object) =>
    messageOf(
      { ':event-type': type, ':message-type': 'event', ':content-type': 'application/json' },
      Buffer.from(JSON.stringify(payload)),
    );
  const stream = convertStream('bedrock-converse', 'openai-chat');
  const told = [
    frame('messageStart', { role: 'assistant' }),
    frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Four' } }),
    frame('messageStop', { stopReason: 'end_turn' }),
    frame('metadata', { usage: { inputTokens: 8, outputTokens: 1 } }),
  ].map((bytes) => stream.push(bytes));
  assert.match(told.join('') + stream.end(), /"content":"Four"[\s\S]*\[DONE\]/);
  assert.equal(stream.failed, null);
});
