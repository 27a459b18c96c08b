import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createSseReader } from '../../../upstream/transport/sse-reader.ts';
import type { PassingReader } from '../dialect.ts';
import { openAiResponses } from './index.ts';

const folder = new URL('../../../../test/conversion/responses/', import.meta.url);

function pass(text: string): { reader: PassingReader; contents: number; fault: string | null } {
  const reader = openAiResponses.readInPassing();
  const sse = createSseReader({ eventBytesMax: 1024 * 1024 });
  let contents = 0;
  let fault: string | null = null;
  for (const event of [...sse.push(Buffer.from(text)), ...sse.end()]) {
    const verdict = reader.step(event);
    if (verdict.content) contents += 1;
    if (verdict.fault !== null) fault = verdict.fault.class;
  }
  return { reader, contents, fault };
}

test('what passes is judged as what is converted: usage, the end, faults, the beginning', () => {
  for (const name of readdirSync(folder)) {
    let text: string;
    try {
      text = readFileSync(new URL(`${name}/answer.sse`, folder), 'utf8');
    } catch {
      continue;
    }
    const decoder = openAiResponses.decodeStream();
    const sse = createSseReader({ eventBytesMax: 1024 * 1024 });
    const events = [...sse.push(Buffer.from(text)), ...sse.end()].flatMap((event) => decoder.step(event));
    const usage = events.find((event) => event.type === 'usage')?.usage ?? null;
    const failed = events.find((event) => event.type === 'failed')?.fault.class ?? null;
    const { reader, fault } = pass(text);
    if (name === 'malformed-line') {
      assert.equal(fault, 'malformed', 'a line that no client can read does not pass');
      continue;
    }
    assert.deepEqual(reader.seen.usage, usage, name);
    assert.equal(fault, failed, name);
    assert.equal(
      reader.seen.terminal,
      events.some((event) => event.type === 'end'),
      name,
    );
  }
});

const frame = (type: string, members = '') =>
  `event: ${type}\ndata: {"type":"${type}","sequence_number":0${members}}\n\n`;
const created = frame('response.created', ',"response":{"id":"resp_1"}');

test('created and empty items are no content; deltas, calls and tools at work are', () => {
  const item = (type: string) => frame('response.output_item.added', `,"output_index":0,"item":{"type":"${type}"}`);
  assert.equal(pass(created + frame('response.in_progress') + item('message') + item('reasoning')).contents, 0);
  assert.equal(pass(created + item('function_call')).contents, 1);
  assert.equal(pass(frame('response.output_text.delta', ',"delta":"x"')).contents, 1);
  assert.equal(pass(frame('response.web_search_call.searching', ',"output_index":0')).contents, 1);
});

test('without names the type is found in the data, and text that looks like one is not taken for it', () => {
  const nameless = (data: string) => `data: ${data}\n\n`;
  const delta = nameless(
    '{"type":"response.output_text.delta","delta":"\\"type\\":\\"response.completed\\"","sequence_number":3}',
  );
  const { reader, contents } = pass(delta);
  assert.equal(contents, 1);
  assert.equal(reader.seen.terminal, false);
  const late = nameless(`{"padding":"${'x'.repeat(300)}","type":"response.completed","response":{"usage":null}}`);
  assert.equal(pass(late).reader.seen.terminal, true);
});

test('the mark continues the stream: the id that was sent, the number of the event that did not pass', () => {
  assert.deepEqual(pass(created + frame('response.in_progress')).reader.seen.mark, { id: 'resp_1', sequence: 2 });
  const failed = frame('response.failed', ',"response":{"error":{"code":"server_error","message":"x"}}');
  assert.deepEqual(pass(created + failed).reader.seen.mark, { id: 'resp_1', sequence: 1 });
  assert.equal(pass(frame('response.output_text.delta')).reader.seen.mark, undefined);
  // The beginning of the part, which this server left out, went before the delta: `fill` numbered it 2.
  const bare = (type: string, members: string) => `event: ${type}\ndata: {"type":"${type}"${members}}\n\n`;
  const item = bare('response.output_item.added', ',"output_index":0,"item":{"type":"message","id":"m"}');
  const delta = bare('response.output_text.delta', ',"output_index":0,"delta":"x"');
  assert.equal(
    pass(bare('response.created', ',"response":{"id":"resp_1"}') + item + delta).reader.seen.mark?.sequence,
    4,
  );
});

test('a whole answer: a failed one is a fault, one that only began is none', () => {
  const reader = openAiResponses.readInPassing();
  assert.equal(reader.whole({ object: 'response', status: 'queued', output: [], error: null }), null);
  const failed = {
    object: 'response',
    status: 'failed',
    output: [],
    error: { code: 'rate_limit_exceeded', message: 'x' },
  };
  assert.equal(reader.whole(failed)?.class, 'rate_limited');
  assert.equal(reader.whole({ error: { message: 'no', type: 'server_error' } })?.class, 'transient');
  assert.equal(reader.whole({ choices: [] })?.class, 'malformed');
});
