import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { convertAnswer, convertRequest } from '../../src/library/formats.ts';

/* Members are those of Anthropic's SDK 1.14: `messages.d.ts` and `beta/messages/messages.d.ts`. */

const user = (content: string) => ({ role: 'user', content });

function overChat(members: JsonObject) {
  const body = { model: 'm', max_tokens: 64, messages: [user('Go.')], ...members };
  const { body: sent, dropped, answer } = convertRequest('anthropic-messages', 'openai-chat', body, { model: 'm' });
  const tools = ((sent as JsonObject).tools ?? []) as { function: { name: string; parameters: JsonObject } }[];
  return { sent: sent as JsonObject, functions: tools.map((one) => one.function), dropped, answer };
}

test('tools that Anthropic defines and the caller runs are functions elsewhere, with their inputs', () => {
  const { functions, dropped } = overChat({
    tools: [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 100 },
      { type: 'memory_20250818', name: 'memory' },
      { type: 'computer_20251124', name: 'computer', display_width_px: 1280, display_height_px: 800 },
    ],
  });
  assert.deepEqual(
    functions.map(({ name, parameters: { required } }) => [name, required]),
    [
      ['bash', []],
      ['str_replace_based_edit_tool', ['command', 'path']],
      ['memory', ['command']],
      ['computer', ['action']],
    ],
  );
  assert.match(JSON.stringify(functions[3]), /1280 x 800 pixels/);
  assert.deepEqual(
    dropped.map(({ field }) => field),
    ['tools.max_characters'],
  );
});

test('a call of such a tool comes back as one of Anthropic’s', () => {
  const { answer } = overChat({ tools: [{ type: 'bash_20250124', name: 'bash' }] });
  const call = { id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } };
  const given = {
    id: 'x',
    object: 'chat.completion',
    model: 'm',
    choices: [
      { index: 0, message: { role: 'assistant', content: null, tool_calls: [call] }, finish_reason: 'tool_calls' },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
  const { body } = convertAnswer('openai-chat', 'anthropic-messages', given, { answer });
  const [block] = (body as { content: JsonObject[] }).content;
  assert.deepEqual(block, { type: 'tool_use', id: 'c1', name: 'bash', input: { command: 'ls' } });
});

test('tools that Anthropic runs are still left out', () => {
  const { functions, dropped } = overChat({
    tools: [
      { type: 'code_execution_20260521', name: 'code_execution' },
      { type: 'computer_toolset_20260801', display_width_px: 1, display_height_px: 1 },
    ],
  });
  assert.deepEqual(functions, []);
  assert.deepEqual(
    dropped.map(({ field }) => field),
    ['tools.code_execution_20260521', 'tools.computer_toolset_20260801'],
  );
});

const definition = (name: string) => ({ name, description: `Does ${name}.`, input_schema: { type: 'object' } });
const added = (name: string) => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition: definition(name) },
});
const removed = (name: string) => ({ type: 'tool_removal', tool: { type: 'tool_reference', name } });

test('tools that messages add or remove are those of the last turn elsewhere', () => {
  const system = (...content: JsonObject[]) => ({ role: 'system', content });
  const { sent, functions, dropped } = overChat({
    tools: [definition('first'), definition('second')],
    messages: [
      user('Go.'),
      system(added('third'), removed('first'), removed('second')),
      user('On.'),
      system({ type: 'tool_addition', tool: { type: 'tool_reference', name: 'second' } }),
    ],
  });
  assert.deepEqual(
    functions.map(({ name }) => name),
    ['second', 'third'],
  );
  assert.deepEqual(sent.messages, [user('Go.'), user('On.')]);
  assert.deepEqual(dropped, []);
  const alone = overChat({ messages: [user('Go.'), system(added('third'))] });
  assert.deepEqual(
    alone.functions.map(({ name }) => name),
    ['third'],
  );
});

test('a compaction is the user’s words elsewhere, in place of all before it', () => {
  const compaction = {
    type: 'compaction',
    content: 'She is Ada.',
    encrypted_content: null,
    tool_changes: [added('late')],
  };
  const { sent, functions, dropped } = overChat({
    messages: [
      user('I am Ada.'),
      { role: 'assistant', content: [compaction, { type: 'text', text: 'Hello.' }] },
      user('Who am I?'),
    ],
  });
  assert.deepEqual(sent.messages, [
    user('Summary of the conversation so far:\n\nShe is Ada.'),
    { role: 'assistant', content: 'Hello.' },
    user('Who am I?'),
  ]);
  assert.deepEqual(
    functions.map(({ name }) => name),
    ['late'],
  );
  assert.deepEqual(dropped, []);
});
