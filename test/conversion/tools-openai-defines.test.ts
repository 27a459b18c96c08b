import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAiResponses } from '../../src/formats/dialects/openai-responses/index.ts';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { convertAnswer, convertRequest } from '../../src/library/formats.ts';

/* Members are those of the published description, `test/spec/openai-openapi.json`. */

const go = { role: 'user', content: 'Go.' };
const screenTool = { type: 'computer_use_preview', environment: 'browser', display_width: 1280, display_height: 800 };

function over(format: 'openai-chat' | 'anthropic-messages' | 'gemini', members: JsonObject) {
  const body = { model: 'm', input: [go], ...members };
  const { body: sent, dropped, answer } = convertRequest('openai-responses', format, body, { model: 'm' });
  return { sent: sent as JsonObject, dropped: dropped.map(({ field }) => field), answer };
}

/** The answer of a chat model that calls one function. */
function calling(name: string, argumentsJson: string): JsonObject {
  const call = { id: 'c1', type: 'function', function: { name, arguments: argumentsJson } };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return {
    id: 'x',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage,
  };
}

function itemOf(tool: JsonObject, given: string): JsonObject {
  const { answer } = over('openai-chat', { tools: [tool] });
  const { body } = convertAnswer('openai-chat', 'openai-responses', calling(String(tool.type), given), { answer });
  const { id, ...item } = (body as { output: JsonObject[] }).output[0]!;
  return { ...item, id: String(id).replace(/_cv_.*/, '') };
}

test('tools that OpenAI defines and the caller runs are functions elsewhere, with their members', () => {
  const tools = [{ type: 'shell' }, { type: 'local_shell' }, { type: 'apply_patch' }, screenTool, { type: 'computer' }];
  const { sent, dropped } = over('openai-chat', { tools });
  const functions = (sent.tools as { function: { name: string; parameters: JsonObject } }[]).map((one) => one.function);
  assert.deepEqual(
    functions.map(({ name, parameters }) => [name, parameters.required]),
    [
      ['shell', ['commands']],
      ['local_shell', ['command']],
      ['apply_patch', ['type', 'path']],
      ['computer_use_preview', ['type']],
      ['computer', ['actions']],
    ],
  );
  assert.match(JSON.stringify(functions[3]), /1280 x 800 pixels/);
  assert.deepEqual(dropped, []);
  assert.equal((over('anthropic-messages', { tools, max_output_tokens: 99 }).sent.tools as JsonObject[]).length, 5);
  assert.match(JSON.stringify(over('gemini', { tools }).sent.tools), /apply_patch/);
});

test('a shell in a container of OpenAI’s is left out, and the skills of a local one are named', () => {
  const hosted = over('openai-chat', { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] });
  assert.deepEqual([hosted.sent.tools, hosted.dropped], [undefined, ['tools.shell']]);
  const skills = [{ name: 'pdf', description: 'Reads PDFs.', path: '/skills/pdf' }];
  const local = over('openai-chat', { tools: [{ type: 'shell', environment: { type: 'local', skills } }] });
  assert.match(JSON.stringify(local.sent.tools), /pdf, in \/skills\/pdf: Reads PDFs\./);
});

test('calls of such tools come back as their own items', () => {
  const facts = { status: 'completed', call_id: 'c1' };
  assert.deepEqual(itemOf({ type: 'shell' }, '{"commands":["ls","pwd"],"timeout_ms":5}'), {
    ...{ type: 'shell_call', ...facts, id: 'sh', environment: { type: 'local' } },
    action: { commands: ['ls', 'pwd'], timeout_ms: 5, max_output_length: null },
  });
  assert.deepEqual(itemOf({ type: 'local_shell' }, '{"command":["ls","-l"],"working_directory":"/x"}'), {
    ...{ type: 'local_shell_call', ...facts, id: 'lsh' },
    action: { type: 'exec', command: ['ls', '-l'], env: {}, working_directory: '/x' },
  });
  assert.deepEqual(itemOf({ type: 'apply_patch' }, '{"type":"update_file","path":"a","diff":"@@\\n-a\\n+b"}'), {
    ...{ type: 'apply_patch_call', ...facts, id: 'apc' },
    operation: { type: 'update_file', path: 'a', diff: '@@\n-a\n+b' },
  });
  assert.deepEqual(itemOf(screenTool, '{"type":"click","x":1,"y":2}'), {
    ...{ type: 'computer_call', ...facts, id: 'cu', pending_safety_checks: [] },
    action: { button: 'left', type: 'click', x: 1, y: 2 },
  });
  assert.deepEqual(itemOf({ type: 'computer' }, '{"actions":[{"type":"screenshot"}]}'), {
    ...{ type: 'computer_call', ...facts, id: 'cu', pending_safety_checks: [] },
    actions: [{ type: 'screenshot' }],
  });
});

test('half a command is not run', () => {
  const { action } = itemOf({ type: 'shell' }, '{"commands":["rm -rf /');
  assert.deepEqual((action as JsonObject).commands, []);
});

function streamed(tools: JsonObject[], events: readonly NeutralEvent[]) {
  const { answer } = over('openai-chat', { tools });
  const head = { fallbackId: 'resp_1', model: 'm', createdS: 0, includeUsage: true, echo: answer.echo as JsonObject };
  const encoder = openAiResponses.encodeStream(head);
  const frames = events.flatMap((event) => encoder.step(event)).join('');
  const items = [...frames.matchAll(/^data: (.*output_item.*)$/gm)].map((match) => JSON.parse(match[1]!));
  return { frames, items };
}

const startOf = (call: number, name: string) =>
  ({ type: 'tool-call-start', choice: 0, call, id: `c${call}`, name }) as const;
const deltaOf = (call: number, argumentsJson: string) =>
  ({ type: 'tool-call-delta', choice: 0, call, argumentsJson }) as const;

test('a streamed call of such a tool is an item that is added and done, whole both times', () => {
  const begin = startOf(0, 'shell');
  const { frames, items } = streamed([{ type: 'shell' }], [begin, deltaOf(0, '{"commands":["ls"]}'), { type: 'end' }]);
  assert.deepEqual(
    items.map(({ type, item }) => [type, item.type, item.status, item.action.commands]),
    [
      ['response.output_item.added', 'shell_call', 'in_progress', ['ls']],
      ['response.output_item.done', 'shell_call', 'completed', ['ls']],
    ],
  );
  assert.doesNotMatch(frames, /function_call/);
});

test('a streamed patch begins with its file, and stays before the calls behind it', () => {
  const operation = { type: 'delete_file', path: 'a.txt' };
  const weather = { type: 'function', name: 'weather' };
  const { items } = streamed(
    [{ type: 'apply_patch' }, weather],
    [
      ...[startOf(0, 'apply_patch'), deltaOf(0, '{"type":"delete_file",'), deltaOf(0, '"path":"a.txt"}')],
      ...[startOf(1, 'weather'), deltaOf(1, '{}'), { type: 'end' } as const],
    ],
  );
  assert.deepEqual(
    items.map(({ type, output_index: index, item }) => [type.split('.').at(-1), index, item.operation]),
    [
      ['added', 0, operation],
      ['done', 0, operation],
      ['added', 1, undefined],
      ['done', 1, undefined],
    ],
  );
});

const shot = 'data:image/png;base64,iVBORw0KGgo=';
const exit = (exit_code: number) => ({ type: 'exit', exit_code });
const history = [
  go,
  { type: 'shell_call', call_id: 's', action: { commands: ['ls'], timeout_ms: null } },
  { type: 'shell_call_output', call_id: 's', output: [{ stdout: 'a.txt', stderr: 'oh', outcome: exit(1) }] },
  { type: 'local_shell_call', id: 'lsh_1', call_id: 'l', action: { type: 'exec', command: ['ls'], env: {} } },
  // As Codex answers it.
  { type: 'function_call_output', call_id: 'l', output: 'b.txt' },
  { type: 'apply_patch_call', call_id: 'p', status: 'completed', operation: { type: 'delete_file', path: 'a.txt' } },
  { type: 'apply_patch_call_output', call_id: 'p', status: 'failed', output: 'No such file.' },
  { type: 'computer_call', id: 'cu_1', call_id: 'k', action: { type: 'screenshot' }, pending_safety_checks: [] },
  { type: 'computer_call_output', call_id: 'k', output: { type: 'computer_screenshot', image_url: shot } },
];

test('calls and outputs of earlier turns are calls and results elsewhere', () => {
  const { sent, dropped } = over('anthropic-messages', { input: history, max_output_tokens: 99 });
  const blocks = (sent.messages as { content: JsonObject[] | string }[]).flatMap(({ content }) =>
    typeof content === 'string' ? [] : content,
  );
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id, name, input }) => [id, name, input]);
  assert.deepEqual(calls, [
    ['s', 'shell', { commands: ['ls'] }],
    ['l', 'local_shell', { command: ['ls'], env: {} }],
    ['p', 'apply_patch', { type: 'delete_file', path: 'a.txt' }],
    ['k', 'computer_use_preview', { type: 'screenshot' }],
  ]);
  const results = blocks.filter(({ type }) => type === 'tool_result');
  assert.match(JSON.stringify(results[0]), /a\.txt\\noh\\n\[exit code 1\]/);
  assert.match(JSON.stringify(results[1]), /b\.txt/);
  assert.match(JSON.stringify(results[2]), /No such file.*"is_error":true|"is_error":true.*No such file/);
  assert.match(JSON.stringify(results[3]), /"type":"image".*iVBORw0KGgo=/);
  assert.deepEqual(dropped, []);
});

test('a choice of such a tool is one of its function, and of none that is not there', () => {
  const { sent } = over('openai-chat', { tools: [{ type: 'apply_patch' }], tool_choice: { type: 'apply_patch' } });
  assert.deepEqual(sent.tool_choice, { type: 'function', function: { name: 'apply_patch' } });
  const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'shell' }] };
  const tools = [{ type: 'shell' }, { type: 'apply_patch' }];
  const { sent: some } = over('openai-chat', { tools, tool_choice: allowed });
  assert.deepEqual(
    (some.tools as { function: { name: string } }[]).map((one) => one.function.name),
    ['shell'],
  );
});
