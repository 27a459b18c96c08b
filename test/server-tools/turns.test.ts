import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { searxngSays } from '../tools/start-engine.ts';
import { openToolsWorld } from './world.ts';

/* The bound on the turns of one answer. */

const world = await openToolsWorld({ after: after as TestContext['after'] });
const { openai, anthropic, upstream, engine, sent, rows } = world;
// Pages would be read, which takes time.
engine.says = () => searxngSays();
const chat = '/v1/chat/completions';
const tools: OpenAI.Responses.Tool[] = [{ type: 'web_search', search_context_size: 'low' }];
const search: Anthropic.WebSearchTool20250305 = { type: 'web_search_20250305', name: 'web_search' };
const turnsMax = 16;
const forever = (turns: number, end: string) => [...Array.from({ length: turns }, () => 'call=web_search'), end];
const chatBody = { model: 'chat', web_search_options: {}, messages: [{ role: 'user' as const, content: 'Pandas?' }] };
const messagesBody = { model: 'chat', max_tokens: 500, tools: [search] };
const asking = { ...messagesBody, messages: chatBody.messages };
const responsesBody = { model: 'chat', input: 'Pandas?', tools };
/** The text of an answer, why it ended, and the output tokens that it tells of. */
type End = [text: string | null, reason: string | null | undefined, outputTokens: number | undefined];
const chatEnd = ({ choices: [choice], usage }: OpenAI.ChatCompletion): End => [
  choice!.message.content || null,
  choice!.finish_reason,
  usage?.completion_tokens,
];
const messageEnd = ({ content, stop_reason: reason, usage }: Anthropic.Message): End => {
  const last = content.at(-1)!;
  return [(last.type === 'text' && last.text) || null, reason, usage.output_tokens];
};
const responseEnd = ({ output_text: text, status, usage }: OpenAI.Responses.Response): End => [
  text || null,
  status,
  usage?.output_tokens,
];
const everyFormat: Record<string, () => Promise<End>> = {
  'chat, whole': async () => chatEnd(await openai.chat.completions.create(chatBody)),
  'chat, streamed': async () => {
    const stream_options = { include_usage: true };
    return chatEnd(await openai.chat.completions.stream({ ...chatBody, stream_options }).finalChatCompletion());
  },
  'messages, whole': async () => messageEnd(await anthropic.messages.create(asking)),
  'messages, streamed': async () => messageEnd(await anthropic.messages.stream(asking).finalMessage()),
  'responses, whole': async () => responseEnd(await openai.responses.create(responsesBody)),
  'responses, streamed': async () => responseEnd(await openai.responses.stream(responsesBody).finalResponse()),
};

for (const [name, ask] of Object.entries(everyFormat)) {
  test(`a model that searches for ever must answer in the sixteenth turn, and every turn is charged (${name})`, async () => {
    sent();
    const from = new Set((await rows()).map(({ id }) => id));
    upstream.script(chat, forever(turnsMax - 1, 'text=Red.'));
    const [text, reason, outputTokens] = await ask();
    assert.deepEqual(
      [text, reason],
      ['Red.', name.startsWith('m') ? 'end_turn' : name[0] === 'c' ? 'stop' : 'completed'],
    );
    const bodies = sent();
    assert.equal(bodies.length, turnsMax);
    assert.deepEqual([bodies.at(-1)!.tool_choice, bodies.at(-2)!.tool_choice], ['none', undefined]);
    const made = (await rows()).filter(({ id }) => !from.has(id));
    const turns = made.filter(({ endpoint }) => endpoint !== 'search');
    assert.deepEqual([turns.length, made.length - turns.length], [turnsMax, turnsMax - 1]);
    assert.ok(turns.every(({ class: end, units }) => end === 'ok' && units === turns[0]!.units && Number(units) > 0));
    const told = turns.reduce((sum, { usage }) => sum + Number((usage as { output_tokens: number }).output_tokens), 0);
    assert.equal(outputTokens, told);
  });

  test(`one that searches even then is stopped (${name})`, async () => {
    sent();
    upstream.script(chat, forever(turnsMax, 'text=Too late.'));
    const [text, reason] = await ask();
    assert.deepEqual(
      [text, reason],
      [null, name.startsWith('m') ? 'pause_turn' : name[0] === 'c' ? 'stop' : 'completed'],
    );
    assert.equal(sent().length, turnsMax);
    upstream.clear();
  });
}

test('a message that was paused goes on where it stopped', async () => {
  upstream.script(chat, forever(turnsMax, 'text=Red.'));
  const paused = await anthropic.messages.create(asking);
  assert.equal(paused.stop_reason, 'pause_turn');
  sent();
  const messages = [...asking.messages, { role: 'assistant' as const, content: paused.content }];
  const answer = await anthropic.messages.create({ ...asking, messages });
  assert.equal(answer.stop_reason, 'end_turn');
  const [body] = sent() as { messages: { role: string }[] }[];
  assert.equal(body!.messages.at(-1)!.role, 'tool');
});
