import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { toResponseRequest } from './to-response-request.ts';

function bodyOf(request: JsonObject): JsonObject {
  const read = toResponseRequest({ model: 'm', input: 'x', ...request });
  assert.ok(!isFailure(read), JSON.stringify(read));
  return read.body;
}

test('an MCP server is a tool of Responses, with the names that it may call', () => {
  const server = { type: 'mcp_server', name: 'notes', url: 'https://example.org/mcp', headers: { a: 'b' } };
  const { tools } = bodyOf({ tools: [{ ...server, allowed_tools: [{ mode: 'auto', tools: ['find'] }] }, server] });
  const mcp = { type: 'mcp', server_label: 'notes', server_url: server.url, headers: { a: 'b' } };
  assert.deepEqual(tools, [
    { ...mcp, allowed_tools: ['find'], require_approval: 'never' },
    { ...mcp, require_approval: 'never' },
  ]);
});

test('a schema may come in a list of formats, or alone beside its media type', () => {
  const schema = { type: 'object', properties: {} };
  const wanted = { format: { type: 'json_schema', name: 'response', schema, strict: false } };
  assert.deepEqual(bodyOf({ response_format: [{ type: 'text', schema }] }).text, wanted);
  assert.deepEqual(bodyOf({ response_format: schema, response_mime_type: 'application/json' }).text, wanted);
  const anyJson = { format: { type: 'json_object' } };
  assert.deepEqual(bodyOf({ response_format: { type: 'text', mime_type: 'application/json' } }).text, anyJson);
});

test('turns of earlier clients are messages', () => {
  const turns = [
    { role: 'user', content: 'Hi' },
    { role: 'model', content: [{ type: 'text', text: 'Hello' }] },
  ];
  assert.deepEqual(bodyOf({ input: turns }).input, [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
  ]);
});

test('thoughts, sound and documents have their places, and results of any form are text or parts', () => {
  const { input, include } = bodyOf({
    store: false,
    input: [
      { type: 'thought', signature: 's', summary: [{ type: 'text', text: 'Hm.' }] },
      { type: 'function_result', call_id: 'c', result: 'plain' },
      { type: 'function_result', call_id: 'd', result: [{ type: 'image', data: 'AA==', mime_type: 'image/png' }] },
      {
        type: 'user_input',
        content: [
          { type: 'audio', data: 'AA==', mime_type: 'audio/mpeg' },
          { type: 'document', uri: 'https://example.org/a.pdf' },
        ],
      },
    ],
  });
  assert.deepEqual(include, ['reasoning.encrypted_content']);
  assert.deepEqual(input, [
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 's' },
    { type: 'function_call_output', call_id: 'c', output: 'plain' },
    {
      type: 'function_call_output',
      call_id: 'd',
      output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }],
    },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'mp3' } },
        { type: 'input_file', file_url: 'https://example.org/a.pdf' },
      ],
    },
  ]);
});

test('calls and results among contents of a step or an earlier turn, as the AI SDK writes them, are steps of their own', () => {
  const call = { type: 'function_call', id: 'c', name: 'f', arguments: { a: 1 } };
  const result = { type: 'function_result', call_id: 'c', name: 'f', result: 'sunny' };
  const text = { type: 'text', text: 'And now?' };
  const expected = [
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: 'c', output: 'sunny' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And now?' }] },
  ];
  assert.deepEqual(bodyOf({ input: [call, { type: 'user_input', content: [result, text] }] }).input, expected);
  const turns = [
    { role: 'model', content: [call] },
    { role: 'user', content: [result, text] },
  ];
  assert.deepEqual(bodyOf({ input: turns }).input, expected);
});
