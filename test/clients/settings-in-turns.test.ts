import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { openThreeProviders } from './three-providers.ts';

/* Settings that a turn brings, and that count from there on: the AI SDK, Claude Code and OpenAI's SDKs write them. */

const { gateway, lastBody } = await openThreeProviders({ opus: { targets: ['claude/claude-opus-4-6'] } });

async function sent(path: string, json: JsonObject): Promise<JsonObject> {
  const answer = await gateway.fetch(path, { json });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get('x-culvert-dropped'), null);
  return lastBody();
}

const user = (content: string) => ({ role: 'user', content });
const update = (members: object) => ({ type: 'configuration_update', ...members });
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const format = { type: 'json_schema', name: 'x', schema };

test('a configuration_update of Responses sets effort and format for all other formats, the newest last', async () => {
  const input = [
    update({ reasoning: { effort: 'low' }, text: { format } }),
    user('a'),
    { role: 'assistant', content: 'b' },
    update({ reasoning: { effort: 'high' } }),
    user('c'),
  ];
  const body = { store: false, reasoning: { effort: 'medium' }, input };
  const chat = await sent('/v1/responses', { model: 'chat', ...body });
  assert.deepEqual(
    [chat.reasoning_effort, chat.response_format],
    ['high', { type: 'json_schema', json_schema: { name: 'x', schema } }],
  );
  const claude = await sent('/v1/responses', { model: 'claude', ...body });
  assert.deepEqual(claude.output_config, { format: { type: 'json_schema', schema } });
  const google = await sent('/v1/responses', { model: 'google', ...body });
  const { thinkingConfig, responseMimeType } = google.generationConfig as JsonObject;
  assert.deepEqual(
    [thinkingConfig, responseMimeType],
    [{ includeThoughts: true, thinkingLevel: 'HIGH' }, 'application/json'],
  );
  const plain = [...input, update({ text: { format: { type: 'text' } } })];
  assert.deepEqual((await sent('/v1/responses', { model: 'chat', store: false, input: plain })).response_format, {
    type: 'text',
  });
});

test('a configuration_update leaves the settings that it does not name, or names as null', async () => {
  const input = [
    update({ reasoning: { effort: 'low' }, text: { format } }),
    user('a'),
    { role: 'assistant', content: 'b' },
    update({ reasoning: null, text: { verbosity: 'low' } }),
    update({ reasoning: { summary: 'auto' } }),
    user('c'),
  ];
  const body = { store: false, reasoning: { effort: 'high' }, input };
  const chat = await sent('/v1/responses', { model: 'chat', ...body });
  assert.deepEqual(
    [chat.reasoning_effort, chat.response_format, chat.verbosity],
    ['low', { type: 'json_schema', json_schema: { name: 'x', schema } }, 'low'],
  );
});

test('very many configuration updates are read as few are', async () => {
  const many = Array.from({ length: 150_000 }, () => update({}));
  const input = [...many, update({ reasoning: { effort: 'high' } }), user('a')];
  assert.equal((await sent('/v1/responses', { model: 'chat', store: false, input })).reasoning_effort, 'high');
});

test('a configuration_update with an unknown value is refused as the setting itself is', async () => {
  const input = [user('a'), update({ reasoning: { effort: 'huge' } })];
  const answer = await gateway.fetch('/v1/responses', { json: { model: 'chat', store: false, input } });
  const { error } = (await answer.json()) as { error: { param: string } };
  assert.deepEqual([answer.status, error.param], [400, 'input[1].reasoning.effort']);
});

test('a system message of Messages sets the effort, and one for a turn alone ends with it', async () => {
  const once = { role: 'system', content: 'Only now.', clear_at: 'next_user_message' };
  const messages = [
    user('a'),
    once,
    { role: 'system', content: [], output_config: { effort: 'low' } },
    { role: 'assistant', content: 'b' },
    user('c'),
    { ...once, content: 'Only here.' },
    { role: 'system', output_config: { effort: 'high' } },
  ];
  const body = { model: 'chat', max_tokens: 5_000, output_config: { effort: 'medium' }, messages };
  const chat = await sent('/v1/messages', body);
  assert.equal(chat.reasoning_effort, 'high');
  assert.match(JSON.stringify(chat.messages), /Only here\./);
  assert.doesNotMatch(JSON.stringify(chat.messages), /Only now\./);
});

test('a Claude that takes no system messages among the turns gets none that says nothing, or is over', async () => {
  const effort = { role: 'system', content: [], output_config: { effort: 'low' } };
  const once = { role: 'system', content: 'Only now.', clear_at: 'next_user_message' };
  const messages = [effort, user('a'), once, { role: 'assistant', content: 'b' }, effort, user('c'), once];
  const json = { model: 'claude', max_tokens: 5_000, messages };
  const answer = await gateway.fetch('/v1/messages', { json });
  assert.equal(answer.status, 200, await answer.text());
  assert.match(answer.headers.get('x-culvert-dropped') ?? '', /messages\.output_config/);
  const text = (words: string) => ({ type: 'text', text: words });
  assert.deepEqual(lastBody().messages, [
    user('a'),
    { role: 'assistant', content: 'b' },
    { role: 'user', content: [text('c'), text('Only now.')] },
  ]);
});

test('a Claude that takes an effort, but no system messages among the turns, gets that of the newest one', async () => {
  const messages = [
    { role: 'system', output_config: { effort: 'high' } },
    user('a'),
    { role: 'system', content: 'Be quick.', output_config: { effort: 'low' } },
  ];
  const body = { model: 'opus', max_tokens: 5_000, messages };
  assert.deepEqual((await sent('/v1/messages', body)).output_config, { effort: 'low' });
  const output_config = { effort: 'medium', format: { type: 'json_schema', schema } };
  assert.deepEqual((await sent('/v1/messages', { ...body, output_config })).output_config, {
    ...output_config,
    effort: 'low',
  });
});

test('a system message of Messages with an unknown setting, or with nothing at all, is refused', async () => {
  for (const [members, param] of [
    [{ content: 'a', clear_at: 'tomorrow' }, 'clear_at'],
    [{ content: 'a', output_config: { effort: 5 } }, 'output_config.effort'],
    [{}, 'content'],
  ] as const) {
    const messages = [user('a'), { role: 'system', ...members }];
    const answer = await gateway.fetch('/v1/messages', { json: { model: 'chat', max_tokens: 50, messages } });
    const { error } = (await answer.json()) as { error: { param: string } };
    assert.deepEqual([answer.status, error.param], [400, `messages[1].${param}`]);
  }
});
