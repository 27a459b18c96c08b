import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeRequest } from '../../../../test/fixtures/decode-request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import type { NeutralPart } from '../../neutral/request.ts';
import { proofOver } from '../../neutral/thought-proof.ts';
import { encodeInput } from './encode-messages.ts';
import { openAiResponses } from './index.ts';

/* What items carry there and back: proofs of thoughts, ids, texts of custom tools. */

function outputOf(events: readonly NeutralEvent[], echo?: JsonObject): JsonObject[] {
  const head = { fallbackId: 'resp_1', model: 'm', createdS: 0, includeUsage: true, ...(echo && { echo }) };
  const fold = openAiResponses.fold(head);
  for (const event of events) fold.add(event);
  fold.add({ type: 'end' });
  return fold.result().output as JsonObject[];
}

/** The parts of a turn that a caller sends back unchanged. */
function partsOf(output: readonly JsonObject[]): readonly NeutralPart[] {
  const input = [{ role: 'user', content: 'x' }, ...output];
  const decoded = decodeRequest(openAiResponses, { model: 'm', input });
  assert.ok(!isFailure(decoded), JSON.stringify(decoded));
  return decoded.messages[1]?.parts ?? [];
}

const start = (call: number, id: string, name = 'f'): NeutralEvent => ({
  type: 'tool-call-start',
  choice: 0,
  call,
  id,
  name,
});

test('items that this format alone has stay in its answers, and those of others are named as lost', () => {
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } };
  const fold = openAiResponses.fold({ fallbackId: 'resp_1', model: 'm', createdS: 0, includeUsage: true });
  fold.add({ type: 'vendor-part', choice: 0, vendor: 'openai-responses', field: search.type, block: search });
  fold.add({ type: 'vendor-part', choice: 0, vendor: 'gemini', field: 'executableCode', block: { part: {} } });
  fold.add({ type: 'end' });
  assert.deepEqual([fold.result().output, [...(fold.lost ?? [])]], [[search], ['executableCode']]);
});

test('the phase of a message without a text is not that of the item behind it', () => {
  const phase = (word: string): NeutralEvent => ({
    type: 'message-start',
    choice: 0,
    beside: { vendor: 'openai-responses', members: { phase: word } },
  });
  const output = outputOf([
    phase('commentary'),
    { type: 'reasoning-delta', choice: 0, text: 'Hm.' },
    phase('final_answer'),
    { type: 'text-delta', choice: 0, text: 'Yes.' },
  ]);
  assert.deepEqual(
    output.map((item) => [item.type, item.phase]),
    [
      ['reasoning', undefined],
      ['message', 'final_answer'],
    ],
  );
});

test('AC-16 every vendor’s proof comes back with what it proves', () => {
  const parts = partsOf(
    outputOf([
      { type: 'reasoning-delta', choice: 0, text: 'Hm.' },
      { type: 'reasoning-signature', choice: 0, signature: 'a.b', vendor: 'anthropic-messages' },
      { type: 'redacted-reasoning', choice: 0, data: 'r', vendor: 'anthropic-messages' },
      { ...start(0, 'c1'), signature: 'g', vendor: 'gemini' } as NeutralEvent,
      start(1, 'c2'),
    ]),
  );
  const [thought, ...rest] = parts;
  assert.ok(thought?.type === 'reasoning' && thought.text === 'Hm.' && thought.vendor === 'anthropic-messages');
  // It is over its text, which some callers leave out of the item.
  assert.deepEqual([proofOver(thought.signature!, 'Hm.'), proofOver(thought.signature!, '')], ['a.b', null]);
  assert.deepEqual(rest, [
    { type: 'redacted-reasoning', data: 'r', vendor: 'anthropic-messages' },
    { type: 'tool-call', id: 'c1', name: 'f', argumentsJson: '{}', signature: 'g', vendor: 'gemini' },
    { type: 'tool-call', id: 'c2', name: 'f', argumentsJson: '{}' },
  ]);
});

test('what a provider of this format encrypted stays as it is', () => {
  const [item] = outputOf([
    { type: 'reasoning-delta', choice: 0, text: 'Hm.' },
    { type: 'reasoning-signature', choice: 0, signature: 'gAAAA', vendor: 'openai-responses' },
  ]);
  assert.equal(item!.encrypted_content, 'gAAAA');
});

test('ids of calls are each their own, also when the upstream repeats or forgets them', () => {
  const ids = outputOf([start(0, 'a'), start(1, 'a'), start(2, '')]).map((item) => item.call_id);
  assert.equal(new Set(ids).size, 3);
  assert.equal(ids[0], 'a');
  assert.ok(ids.every((id) => id !== ''));
});

test('a call that came as a custom one is one, though the request is not known', () => {
  const call: NeutralEvent = { type: 'tool-call-start', choice: 0, call: 0, id: 'a', name: 'p', custom: true };
  const [item] = outputOf([call, { type: 'tool-call-delta', choice: 0, call: 0, argumentsJson: '{"input":"x"}' }]);
  assert.deepEqual([item!.type, item!.input], ['custom_tool_call', 'x']);
});

test('a call of a tool in a namespace keeps it both ways, though the request is not known', () => {
  const call = { type: 'function_call', call_id: 'a', namespace: 'crm', name: 'find', arguments: '{}' };
  const decoder = openAiResponses.decodeWhole!({ id: 'resp_1', status: 'completed', output: [call] } as never);
  const [item] = outputOf(decoder.filter(({ type }) => type.startsWith('tool-call')));
  assert.deepEqual([item!.namespace, item!.name], ['crm', 'find']);
  assert.deepEqual(partsOf([item!]), [{ type: 'tool-call', id: 'a', name: 'crm__find', argumentsJson: '{}' }]);
});

test('empty texts of the assistant are left out, and no choice stands without tools', () => {
  const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: '' }] };
  assert.deepEqual(partsOf([message]), []);
  const decoded = decodeRequest(openAiResponses, {
    model: 'm',
    input: 'x',
    tool_choice: 'auto',
    tools: [{ type: 'y' }],
  });
  assert.ok(!isFailure(decoded) && decoded.toolChoice === undefined);
});

function read(events: readonly JsonObject[]): NeutralEvent[] {
  const decoder = openAiResponses.decodeStream();
  return events.flatMap((event) => decoder.step({ event: '', data: JSON.stringify(event) }));
}

test('a thought told in two forms is told once; two thoughts are parted', () => {
  const added = (output_index: number) => ({
    type: 'response.output_item.added',
    output_index,
    item: { type: 'reasoning', id: `rs_${output_index}`, summary: [] },
  });
  const events = read([
    added(0),
    { type: 'response.reasoning_text.delta', output_index: 0, delta: 'raw' },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'short' },
    added(1),
    { type: 'response.reasoning_text.delta', output_index: 1, delta: 'more' },
  ]);
  assert.deepEqual(
    events.slice(1).map((event) => (event.type === 'reasoning-delta' ? event.text : event.type)),
    ['raw', 'part-end', 'more'],
  );
});

test('the text of a custom call that never was said to be done is whole JSON at the end', () => {
  const events = read([
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'custom_tool_call', id: 'ctc_1', call_id: 'a', name: 'p', input: '' },
    },
    { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: 'a "b"\n' },
    { type: 'response.completed', response: { output: [], status: 'completed' } },
  ]);
  const text = events.map((event) => (event.type === 'tool-call-delta' ? event.argumentsJson : '')).join('');
  assert.deepEqual(JSON.parse(text), { input: 'a "b"\n' });
});

test('ids of calls that are longer than OpenAI takes are shortened, alike for call and output', () => {
  const id = `call_${'x'.repeat(80)}`;
  const { items } = encodeInput([
    { role: 'assistant', parts: [{ type: 'tool-call', id, name: 'f', argumentsJson: '{}', custom: true }] },
    { role: 'tool', parts: [{ type: 'tool-result', callId: id, parts: [], isError: false }] },
  ]);
  assert.deepEqual(
    items.map(({ type }) => type),
    ['custom_tool_call', 'custom_tool_call_output'],
  );
  assert.equal(items[0]!.call_id, items[1]!.call_id);
  assert.equal(String(items[0]!.call_id).length, 64);
});

test('passages that a search of files found come back as a call and its result', () => {
  const item = { type: 'file_search_call', id: 'fs_cv_1', status: 'completed', queries: ['hot tea'] };
  const messagesOf = (results: JsonValue) => {
    const input = [
      { role: 'user', content: 'x' },
      { ...item, results },
      { role: 'user', content: 'y' },
    ];
    const decoded = decodeRequest(openAiResponses, { model: 'm', input });
    assert.ok(!isFailure(decoded), JSON.stringify(decoded));
    return decoded.messages.slice(1, -1).map(({ role, parts }) => ({ role, parts }));
  };
  const found = [
    { file_id: 'file_1', filename: 'tea.md', score: 0.9, text: 'Tea is hot.', attributes: {} },
    { text: 'Milk is not.' },
    { filename: 'odd', text: 7 },
    null,
  ];
  assert.deepEqual(messagesOf(found), [
    {
      role: 'assistant',
      parts: [{ type: 'tool-call', id: 'fs_cv_1', name: 'file_search', argumentsJson: '{"query":"hot tea"}' }],
    },
    {
      role: 'tool',
      parts: [
        {
          type: 'tool-result',
          callId: 'fs_cv_1',
          parts: [{ type: 'text', text: 'tea.md\nTea is hot.\n\nMilk is not.' }],
          isError: false,
        },
      ],
    },
  ]);
  // Without `include` an item has none.
  for (const none of [null, []])
    assert.deepEqual(
      messagesOf(none).flatMap(({ parts }) => parts),
      [],
    );
});

test('a call of an MCP server that this gateway made comes back as a call and its result', () => {
  const item = { type: 'mcp_call', id: 'mcp_cv_1', server_label: 'shop', name: 'price', arguments: ' {"of":"tea"} ' };
  const messagesOf = (more: JsonObject) => {
    const input = [
      { role: 'user', content: 'x' },
      { ...item, ...more },
      { role: 'user', content: 'y' },
    ];
    const decoded = decodeRequest(openAiResponses, { model: 'm', input });
    assert.ok(!isFailure(decoded), JSON.stringify(decoded));
    return decoded.messages.slice(1, -1);
  };
  const [call, result] = messagesOf({ output: '3 €', error: null });
  assert.deepEqual(call?.parts, [
    { type: 'tool-call', id: 'mcp_cv_1', name: 'shop__price', argumentsJson: '{"of":"tea"}' },
  ]);
  assert.equal(result?.role, 'tool');
  assert.deepEqual(result?.parts, [
    { type: 'tool-result', callId: 'mcp_cv_1', parts: [{ type: 'text', text: '3 €' }], isError: false },
  ]);
  const [, failed] = messagesOf({ output: null, error: 'sold out', arguments: '' });
  assert.deepEqual(failed?.parts, [
    { type: 'tool-result', callId: 'mcp_cv_1', parts: [{ type: 'text', text: 'sold out' }], isError: true },
  ]);
  // Without a name there is nothing to call again.
  assert.deepEqual(
    messagesOf({ name: null }).flatMap(({ parts }) => parts),
    [],
  );
});

test('comments on the work and the final answer, which are two messages, are two paragraphs elsewhere', () => {
  const url = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 5 };
  const message = (phase: string | null, text: string, annotations: JsonObject[] = []) => {
    const content = [{ type: 'output_text', text, annotations }];
    return { type: 'message', id: text, role: 'assistant', status: 'completed', ...(phase && { phase }), content };
  };
  const read = (output: JsonObject[]) => {
    const whole = openAiResponses.decodeWhole({ id: 'r', object: 'response', status: 'completed', output });
    const decoder = openAiResponses.decodeStream();
    const frame = (type: string, rest: JsonObject) => ({ event: type, data: JSON.stringify({ type, ...rest }) });
    const streamed = output.flatMap((item, output_index) => [
      ...decoder.step(
        frame('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } }),
      ),
      ...decoder.step(frame('response.content_part.added', { output_index, part: { type: 'output_text', text: '' } })),
      ...decoder.step(frame('response.output_text.delta', { output_index, delta: String(item.id) })),
      ...decoder.step(frame('response.output_item.done', { output_index, item })),
    ]);
    return [whole, streamed].map((events) => ({
      text: events.map((event) => (event.type === 'text-delta' ? event.text : '')).join(''),
      spans: events.flatMap((event) => (event.type === 'citation' ? [event.citation.span] : [])),
    }));
  };
  const found = { text: 'I look.\n\nFound it.', spans: [{ start: 9, end: 14 }] };
  assert.deepEqual(read([message('commentary', 'I look.'), message('final_answer', 'Found it.', [url])]), [
    found,
    found,
  ]);
  // Gateways and servers without phases write one text in several messages.
  const joined = { text: 'I look.Found it.', spans: [] };
  assert.deepEqual(read([message(null, 'I look.'), message(null, 'Found it.')]), [joined, joined]);
});

test('ids of items that come whole are labels, and those of others name what is kept', () => {
  const use = (type: string) => openAiResponses.objects.find({ input: [{ type, id: 'one' }] }).map((one) => one.use);
  for (const type of ['message', 'compaction_trigger', 'configuration_update', 'program', 'program_output'])
    assert.deepEqual(use(type), ['label'], type);
  for (const type of ['item_reference', 'one_of_tomorrow']) assert.deepEqual(use(type), ['reference'], type);
});
