import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOfFrames } from '../conversion/message-of-frames.ts';
import { startGateway } from '../start-gateway.ts';
import { betas, firstRequest, secondRequest, toolNames } from './claude-code-body.ts';
import { type ClientWorld, chatPathOf, chatsOf, overBothFormats } from './formats.ts';

type Block = { type: string; id?: string; text?: string; thinking?: string };

function post({ gateway }: Pick<ClientWorld, 'gateway'>, json: object): Promise<Response> {
  return gateway.fetch('/v1/messages?beta=true', {
    json,
    headers: {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': betas,
      'x-app': 'cli',
      'x-claude-code-session-id': '3f2c9c1e',
      'anthropic-dangerous-direct-browser-access': 'true',
    },
  });
}

overBothFormats('Claude Code: a tool turn there and back, system messages in the middle and all', async (world) => {
  const first = firstRequest('Please call Bash and call Grep');
  assert.ok(JSON.stringify(first).length > 50_000 && JSON.stringify(first).length < 90_000);
  const response = await post(world, first);
  assert.equal(response.status, 200);
  const turn = messageOfFrames(await response.text());
  assert.ok(turn.ended);
  assert.equal(turn.message.stop_reason, 'tool_use');
  const content = turn.message.content as Block[];
  assert.equal(content.filter(({ type }) => type === 'tool_use').length, 2);

  const next = messageOfFrames(
    await (await post(world, secondRequest('Please call Bash and call Grep', content))).text(),
  );
  assert.equal(next.message.stop_reason, 'end_turn');
  assert.match((next.message.content as Block[]).at(-1)?.text ?? '', /Mock answer/);

  const [sent, again] = chatsOf(world);
  if (world.format === 'anthropic') {
    // A server that imitates Anthropic's format knows no messages of the system: what they say joins the turn, and the
    // effort that they set is the request's.
    const [user, reminder] = first.messages as { content: Block[] }[];
    const content = [...user!.content, ...reminder!.content];
    const set = { output_config: { effort: 'low' }, messages: [{ role: 'user', content }] };
    assert.deepEqual(sent, { ...first, ...set, model: 'mock/ok' });
    return;
  }
  const messages = sent!.messages as { role: string; content: unknown }[];
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['system', 'user'],
  );
  assert.ok(!JSON.stringify(sent).includes('billing-header') && !JSON.stringify(sent).includes('cache_control'));
  const names = (sent!.tools as { function: { name: string } }[]).map((tool) => tool.function.name);
  assert.deepEqual(names, toolNames);
  assert.equal(sent!.user, 'd'.repeat(64));
  // The reminder behind the turn sets it.
  assert.equal(sent!.reasoning_effort, 'low');
  assert.deepEqual(
    (again!.messages as { role: string }[]).map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool', 'tool'],
  );
});

overBothFormats(
  'Claude Code: thoughts it does not want to see come back to the model that needs them',
  async (world) => {
    const ask = (json: Record<string, unknown>) => post(world, { ...json, model: 'thinks' });
    const turn = messageOfFrames(await (await ask(firstRequest('Please call Bash'))).text());
    const content = turn.message.content as Block[];
    assert.equal(content[0]?.type, 'thinking');
    if (world.format === 'openai') assert.equal(content[0]?.thinking, '');
    await (await ask(secondRequest('Please call Bash', content))).text();
    const messages = chatsOf(world)[1]!.messages as { role: string; content?: unknown; reasoning_content?: string }[];
    const back = messages.find(({ role }) => role === 'assistant');
    if (world.format === 'openai') assert.match(back?.reasoning_content ?? '', /^The user wants an answer/);
    else assert.deepEqual(back?.content, content);
  },
);

overBothFormats(
  'Claude Code: a cut stream ends in `event: error`, and its fallback without stream is answered',
  async (world) => {
    world.upstream.script(chatPathOf(world), ['cut=8events']);
    const cut = await (await post(world, firstRequest('Hello'))).text();
    assert.match(cut, /event: error\ndata: \{"type":"error","error":\{.*\n\n$/);
    assert.equal(messageOfFrames(cut.slice(0, cut.indexOf('event: error'))).ended, false);
    const whole = await post(world, { ...firstRequest('Hello'), stream: false, max_tokens: 64_000 });
    assert.equal(((await whole.json()) as { stop_reason: string }).stop_reason, 'end_turn');
  },
);

overBothFormats('Claude Code: /context counts 25 bodies at once', async (world) => {
  const { stream: _, max_tokens: __, ...body } = firstRequest('Hello');
  const answers = await Promise.all(
    Array.from({ length: 25 }, () => world.gateway.fetch('/v1/messages/count_tokens?beta=true', { json: body })),
  );
  for (const answer of answers) {
    assert.equal(answer.status, 200);
    assert.ok(((await answer.json()) as { input_tokens: number }).input_tokens > 1_000);
  }
});

test('Claude Code: the zero-key simulator answers it, and says what it is', async (t) => {
  const gateway = await startGateway(t, { simulator: 'on' });
  const json = { ...firstRequest('What is a culvert?'), model: 'sim/chat', thinking: { type: 'adaptive' } };
  const response = await post({ gateway }, json);
  assert.equal(response.headers.get('x-culvert-simulated'), 'true');
  const { message, ended } = messageOfFrames(await response.text());
  assert.ok(ended);
  const blocks = message.content as Block[];
  assert.deepEqual(
    blocks.map(({ type }) => type),
    ['thinking', 'text'],
  );
  assert.match(blocks[1]?.text ?? '', /^\[simulated\] /);
  const counted = await gateway.fetch('/v1/messages/count_tokens', { json });
  assert.ok(((await counted.json()) as { input_tokens: number }).input_tokens > 1_000);
});

test('Claude Code: HEAD /api/hello is answered without a key', async (t) => {
  const gateway = await startGateway(t, { simulator: 'on' });
  assert.equal((await fetch(`${gateway.url}/api/hello`, { method: 'HEAD' })).status, 200);
});
