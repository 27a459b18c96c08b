import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionMemory } from './connection-memory.ts';

const said = (text: string) => ({
  id: 'msg_1',
  status: 'completed',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const response = (id: string) => ({ id, output: [said('Hello.')] });

test('a connection remembers its last response alone, and none where that is too long', () => {
  const share = { connections: 1, chars: 0 };
  const memory = new ConnectionMemory(share);
  memory.keep({ input: 'one' }, response('resp_1'), 'req_1');
  const next = { input: 'two', previous_response_id: 'resp_1' };
  const { input } = memory.continued(next) as { input: object[] };
  assert.deepEqual(
    input.map((item) => ('role' in item ? item.role : null)),
    ['user', 'assistant', 'user'],
  );
  const { chars } = share;
  assert.ok(chars > 0);
  memory.keep({ input: 'x'.repeat(9 * 1024 * 1024) }, response('resp_2'), 'req_2');
  for (const previous_response_id of ['resp_1', 'resp_2']) {
    const body = { ...next, previous_response_id };
    assert.equal(memory.continued(body), body);
  }
  assert.equal(share.chars, 0);
  share.chars = 60 * 1024 * 1024;
  memory.keep({ input: 'one' }, response('resp_3'), 'req_3');
  assert.equal(share.chars, 60 * 1024 * 1024 + chars, 'other connections remember less than all may');
  memory.forget();
  memory.forget();
  assert.equal(share.chars, 60 * 1024 * 1024);
});
