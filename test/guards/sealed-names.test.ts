import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { textsIn, withTexts } from '../../src/formats/neutral/json-texts.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';

/* Texts that look like proofs of providers or like bytes, which no guard reads. */

const gateway = await startGateway({ after } as TestContext, {
  guards: { pii: { check: 'personal-data', kinds: ['email'], action: 'block' } },
  server: { guards: ['pii'] },
});

const hello = { role: 'user', content: 'Hello' };
const forms: Record<string, (value: JsonObject) => [path: string, body: JsonObject]> = {
  'arguments of chat': (value) => {
    const call = { id: 'c', type: 'function', function: { name: 'find', arguments: JSON.stringify(value) } };
    const messages = [
      hello,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
    ];
    return ['/v1/chat/completions', { model: 'chat', messages }];
  },
  'arguments of messages': (value) => {
    const call = { type: 'tool_use', id: 'c', name: 'find', input: value };
    const result = { type: 'tool_result', tool_use_id: 'c', content: 'ok' };
    const messages = [hello, { role: 'assistant', content: [call] }, { role: 'user', content: [result] }];
    return ['/v1/messages', { model: 'chat', max_tokens: 50, messages }];
  },
  "a tool's result of Gemini": (value) => {
    const turns = [
      { functionCall: { name: 'find', args: {} } },
      { functionResponse: { name: 'find', response: value } },
    ];
    const contents = ['user', 'model', 'user'].map((role, at) => ({
      role,
      parts: [turns[at - 1] ?? { text: 'Hello' }],
    }));
    return ['/v1beta/models/chat:generateContent', { contents }];
  },
  'the environment of a shell': (value) => {
    const action = { type: 'exec', command: ['ls'], env: value };
    const call = { type: 'local_shell_call', call_id: 'c', id: 'lsh_1', status: 'completed', action };
    const output = { type: 'local_shell_call_output', id: 'c', call_id: 'c', output: 'ok' };
    return ['/v1/responses', { model: 'chat', input: [hello, call, output], tools: [{ type: 'local_shell' }] }];
  },
  metadata: (value) => ['/v1/responses', { model: 'chat', input: 'Hello', metadata: value }],
};
for (const [what, order] of Object.entries(forms)) {
  for (const name of [
    'name',
    'status',
    'email_signature',
    'encrypted_note',
    'redacted_text',
    'redacted ann@example.org',
  ]) {
    test(`a guard reads ${what} in a member that is named '${name}'`, async () => {
      const [path, json] = order({ [name]: 'Ann, ann@example.org' });
      const answer = await gateway.fetch(path, { json });
      assert.equal(answer.status, 400, await answer.text());
    });
  }
}

test('attributes of what a search found may have any name', () => {
  const results = [{ text: 'Hello', attributes: { status: 'Ann', name: 'Jo' } }];
  const { parts } = textsIn({ input: [{ type: 'file_search_call', results }] });
  const values = parts.filter(({ as, kind }) => as === undefined && kind !== 'label').map(({ text }) => text);
  assert.deepEqual(values, ['Hello', 'Ann', 'Jo']);
});

test('so may members of a structured result of an MCP server', () => {
  const { parts } = textsIn({ structuredContent: { status: 'Ann', rows: [{ name: 'Jo' }] } }, 'assistant');
  const values = parts.filter(({ as, kind }) => as === undefined && kind === 'tool-result').map(({ text }) => text);
  assert.deepEqual(values, ['Ann', 'Jo']);
});

test('documents to rank may have such members', () => {
  const { parts, unread } = textsIn({ documents: [{ text: 'Hello', signature: 'Ann' }] });
  assert.deepEqual([parts.map(({ text }) => text), unread], [['Hello', 'Ann'], []]);
});

test('signatures and sealed thoughts of a format are no texts, and nothing that a guard would have to read', () => {
  const sealed = { signature: 'a', thoughtSignature: 'b', encrypted_content: 'c', redactedContent: 'd', data: 'e' };
  const content = [{ type: 'redacted_thinking', ...sealed, text: 'Hello', not_encrypted_x: 'too' }];
  const { parts, unread } = textsIn({ messages: [{ role: 'assistant', content }] });
  const read = parts.filter(({ kind }) => kind !== 'label').map(({ text }) => text);
  assert.deepEqual([read, unread], [['Hello', 'too'], []]);
});

test('a text that begins like a data URL is read, and a whole one is bytes', () => {
  const texts = ['data:a;base64, mail ann@example.org', 'data:Mail ann@example.org;base64,AA', 'data:,;base64,AA'];
  for (const content of texts) {
    const { parts, unread } = textsIn({ messages: [{ role: 'user', content }] });
    assert.deepEqual([parts.at(-1)?.text, unread], [content, []]);
  }
  const whole = ['data:image/png;base64,iVBORw0KGgo=', 'data:text/plain;charset=utf-8;base64,SGk', 'data:;base64,'];
  for (const content of whole) {
    const { unread } = textsIn({ messages: [{ role: 'user', content }] });
    assert.deepEqual(unread, [{ path: ['messages', 0, 'content'], kind: 'bytes' }]);
  }
});

test('a value that is named as a proof stays where a guard masks a text next to it, and the proof of a thought goes', () => {
  const value = { signature: 'def f(x)', author: 'ann@example.org' };
  const thought = { type: 'thinking', thinking: 'I ask ann@example.org.', signature: 'proof' };
  const call = { type: 'tool_use', id: 'c', name: 'find', input: value };
  const body = { points: [{ payload: value }], messages: [{ role: 'assistant', content: [thought, call] }] };
  const masked = (text: string) => text.replace('ann@example.org', '<EMAIL_1>');
  const found = textsIn(body).parts.filter(({ text }) => masked(text) !== text);
  const changed = withTexts(
    JSON.stringify(body),
    found.map((part) => ({ ...part, text: masked(part.text) })),
  );
  assert.equal(
    changed,
    JSON.stringify(body).replaceAll('ann@example.org', '<EMAIL_1>').replace(',"signature":"proof"', ''),
  );
});
