import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GoogleGenAI, type Interactions } from '@google/genai';
import { startGateway } from '../start-gateway.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Google's Interactions by its own SDK, over a provider of each format. */

const { upstream, gateway, lastBody } = await openThreeProviders(
  { native: { targets: ['native/mock/ok'] } },
  (url) => ({ native: { type: 'openai', base_url: `${url}/v1`, api_key: 'd', dialects: ['openai-responses'] } }),
);
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function' as const, name: 'get_weather', description: 'W.', parameters }];

type Events = AsyncIterable<Interactions.InteractionSSEEvent>;

async function streamed(request: Interactions.CreateModelInteractionParamsNonStreaming) {
  return eventsOf(google.interactions.create({ ...request, stream: true } as never) as unknown as Promise<Events>);
}

/** What the events of a stream come to. */
async function eventsOf(stream: Promise<Events>) {
  const events: Interactions.InteractionSSEEvent[] = [];
  for await (const event of await stream) events.push(event);
  let text = '';
  let json = '';
  for (const event of events) {
    if (event.event_type !== 'step.delta') continue;
    if (event.delta.type === 'text') text += event.delta.text;
    if (event.delta.type === 'arguments_delta') json += event.delta.arguments;
  }
  return { events, text, json, types: events.map(({ event_type: type }) => type) };
}

for (const model of Object.keys(models)) {
  test(`${model}: a whole interaction, with instructions, thoughts, usage and the text`, async () => {
    const interaction = await google.interactions.create({
      model,
      input: 'hello there',
      system_instruction: 'Be brief.',
      generation_config: {
        temperature: 0.5,
        max_output_tokens: 4_000,
        thinking_level: 'low',
        thinking_summaries: 'auto',
      },
    });
    assert.equal(interaction.status, 'completed');
    assert.match(interaction.output_text ?? '', /hello there/);
    assert.ok(!Number.isNaN(Date.parse(interaction.created ?? '')));
    const usage = interaction.usage!;
    assert.ok(usage.total_input_tokens! > 0 && usage.total_output_tokens! > 0);
    const { total_output_tokens: output = 0, total_thought_tokens: thought = 0, total_input_tokens: input = 0 } = usage;
    assert.equal(usage.total_tokens, input + output + thought);
    assert.match(JSON.stringify(lastBody()), /Be brief\./);
  });

  test(`${model}: a stream begins, says in steps what the whole answer says, and ends`, async () => {
    const request = { model, input: 'count to three', store: false };
    const whole = await google.interactions.create(request);
    const { text, types, events } = await streamed(request);
    assert.equal(text, whole.output_text);
    assert.deepEqual([types[0], types.at(-1)], ['interaction.created', 'interaction.completed']);
    const count = (type: string) => types.filter((one) => one === type).length;
    assert.equal(count('step.start'), count('step.stop'));
    assert.equal(count('step.start'), whole.steps!.length);
    const end = events.at(-1) as Interactions.InteractionCompletedEvent;
    assert.equal(end.interaction.status, 'completed');
    assert.ok(end.interaction.usage!.total_output_tokens! > 0);
  });

  test(`${model}: a function is called, and its result read, with the history and without`, async () => {
    const words = 'Please call get_weather';
    const called = await google.interactions.create({ model, input: words, tools });
    assert.equal(called.status, 'requires_action');
    const call = called.steps!.find(({ type }) => type === 'function_call') as Interactions.FunctionCallStep;
    assert.deepEqual([call.name, typeof call.arguments.city], ['get_weather', 'string']);
    const { json, events } = await streamed({ model, input: words, tools, store: false });
    assert.deepEqual(JSON.parse(json), call.arguments);
    assert.equal((events.at(-1) as Interactions.InteractionCompletedEvent).interaction.status, 'requires_action');
    const result = { type: 'function_result' as const, call_id: call.id, name: call.name, result: { sky: 'clear' } };
    const kept = await google.interactions.create({
      model,
      input: [result],
      previous_interaction_id: called.id,
      tools,
    });
    assert.match(kept.output_text ?? '', /^Mock answer/);
    assert.match(JSON.stringify(lastBody()), /clear/);
    const history = [
      { type: 'user_input' as const, content: [{ type: 'text' as const, text: words }] },
      ...called.steps!,
      { ...result, result: [{ type: 'text' as const, text: 'rain' }] },
    ];
    const sent = await google.interactions.create({ model, input: history, tools, store: false });
    assert.match(sent.output_text ?? '', /^Mock answer/);
    assert.match(JSON.stringify(lastBody()), /get_weather[\s\S]*rain/);
  });

  test(`${model}: pictures, documents and a schema go to the provider`, async () => {
    const data = Buffer.from('a picture').toString('base64');
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const answer = await google.interactions.create({
      model,
      input: [
        { type: 'text', text: 'Where is it?' },
        { type: 'image', data, mime_type: 'image/png' },
      ],
      response_format: { type: 'text', mime_type: 'application/json', schema },
    });
    assert.equal(typeof JSON.parse(answer.output_text ?? '').city, 'string');
    assert.match(JSON.stringify(lastBody()), new RegExp(data));
  });
}

test('an interaction is kept: it is continued, read, streamed again and deleted', async () => {
  const first = await google.interactions.create({ model: 'chat', input: 'My name is Ada.' });
  await google.interactions.create({ model: 'chat', input: 'Who am I?', previous_interaction_id: first.id });
  assert.match(JSON.stringify(lastBody()), /My name is Ada\.[\s\S]*Who am I\?/);
  const read = await google.interactions.get(first.id);
  assert.deepEqual([read.id, read.status, read.steps], [first.id, 'completed', first.steps]);
  const again = await eventsOf(google.interactions.get(first.id, { stream: true }));
  assert.deepEqual([again.types[0], again.types.at(-1)], ['interaction.created', 'interaction.completed']);
  assert.equal(again.text, first.output_text);
  // Who has the steps already gets the end.
  const later = await eventsOf(google.interactions.get(first.id, { stream: true, last_event_id: '7' }));
  assert.deepEqual([later.types, later.events[0]?.event_id], [['interaction.completed'], '8']);
  const calling = { model: 'chat', input: 'Please call get_weather', tools };
  const called = await google.interactions.create(calling);
  const calls = await eventsOf(google.interactions.get(called.id, { stream: true }));
  const live = await streamed(calling);
  assert.deepEqual([calls.json, calls.types.at(-1)], [live.json, live.types.at(-1)]);
  await google.interactions.delete(first.id);
  await assert.rejects(google.interactions.get(first.id), { status: 404 });
  await assert.rejects(google.interactions.delete(first.id));
  const other = { model: 'chat', input: 'Hi', previous_interaction_id: first.id };
  await assert.rejects(google.interactions.create(other), /previous_interaction_id/);
});

test('one in the background is queued, called off, and said to be cancelled', async () => {
  upstream.script('*', ['tokens=200;interval=50ms']);
  const begun = await google.interactions.create({ model: 'chat', input: 'Work', background: true });
  assert.ok(['queued', 'in_progress'].includes(begun.status), begun.status);
  const cancelled = await google.interactions.cancel(begun.id);
  assert.equal(cancelled.status, 'cancelled');
  assert.equal((await google.interactions.get(begun.id)).status, 'cancelled');
});

test('a run in the background holds its place among the running requests', async (t) => {
  const one = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['up/mock/tokens=200;interval=50ms'] } },
    plans: { default: { concurrency: 1, rpm: 'off' } },
  });
  const ask = (background: boolean) =>
    one.fetch('/v1beta/interactions', { json: { model: 'chat', input: 'Work', background } });
  const begun = (await (await ask(true)).json()) as { id: string };
  assert.equal((await ask(false)).status, 429);
  await one.fetch(`/v1beta/interactions/${begun.id}/cancel`, { method: 'POST' });
});

test('choices of tools, and tools that the server runs, reach a provider of OpenAI’s format', async () => {
  const hosted = [{ type: 'google_search' as const }, { type: 'url_context' as const }];
  const asked = { model: 'native', input: 'Hi', store: false };
  await google.interactions.create({
    ...asked,
    tools: [...tools, ...hosted],
    generation_config: { tool_choice: 'any' },
  });
  const sent = lastBody();
  assert.equal(sent.tool_choice, 'required');
  // The provider searches, and this server reads pages.
  const names = (sent.tools as { type: string; name?: string }[]).map(({ type, name = type }) => name);
  assert.deepEqual(names.toSorted(), ['get_weather', 'web_fetch', 'web_search']);
  const allowed_tools = { mode: 'any', tools: ['get_weather'] };
  await google.interactions.create({ ...asked, tools, generation_config: { tool_choice: { allowed_tools } } });
  const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'get_weather' }] };
  assert.deepEqual(lastBody().tool_choice, choice);
});

test('bad input is refused in Google’s format, by the caller’s fields', async () => {
  for (const [json, status, field] of [
    [{ agent: 'deep-research', input: 'x' }, 400, 'agent'],
    [{ model: 'chat' }, 400, 'input'],
    [{ model: 'chat', input: [7] }, 400, 'input[0]'],
    [{ model: 'chat', input: [{ type: 'video', uri: 'https://example.org/a' }] }, 400, 'input[0].type'],
    [{ model: 'chat', input: 'x', generation_config: { temperature: 9 } }, 400, 'generation_config.temperature'],
    [
      { model: 'chat', input: 'x', generation_config: { max_output_tokens: 0 } },
      400,
      'generation_config.max_output_tokens',
    ],
    [{ model: 'nobody', input: 'x' }, 404, 'model'],
  ] as const) {
    const answer = await gateway.fetch('/v1beta/interactions', { json });
    const { error } = (await answer.json()) as {
      error: { status: string; details: { fieldViolations?: { field: string }[] }[] };
    };
    assert.equal(answer.status, status, JSON.stringify(error));
    const fields = error.details.flatMap(({ fieldViolations }) => fieldViolations ?? []).map((one) => one.field);
    assert.deepEqual(fields, [field], JSON.stringify(json));
  }
  const cut = await gateway.fetch('/v1beta/interactions', {
    method: 'POST',
    body: '{"model": "chat", ',
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(cut.status, 400);
});

test('a stream that breaks ends with an error of the format', async () => {
  upstream.script('*', ['always tokens=40;cut=9events']);
  try {
    const answer = await gateway.fetch('/v1beta/interactions', { json: { model: 'chat', input: 'x', stream: true } });
    const text = await answer.text();
    assert.match(text, /event: error\ndata: \{"event_type":"error","error":\{"code":"\w+","message":"[^"]+"/);
    assert.match(text, /data: \[DONE\]\n\n$/);
    assert.doesNotMatch(text, /response\./);
  } finally {
    upstream.clear();
  }
});

const limited = { stop_sequences: [' gamma'], seed: 7 };

for (const model of [...Object.keys(models), 'native']) {
  test(`${model}: an interaction ends at a stop sequence, whole and streamed`, async () => {
    const request = { model, input: 'alpha beta gamma delta', store: false, generation_config: limited };
    const { output_text: whole } = await google.interactions.create(request);
    assert.match(whole ?? '', /alpha beta$/);
    const { text, types } = await streamed(request);
    assert.equal(text, whole);
    assert.equal(types.at(-1), 'interaction.completed');
    assert.doesNotMatch(JSON.stringify(lastBody()), /of another format/);
  });
}

test('a seed reaches a provider that takes one, and is named where it does not', async () => {
  const json = { input: 'x', generation_config: limited };
  const taken = await gateway.fetch('/v1beta/interactions', { json: { ...json, model: 'chat' } });
  assert.equal(taken.headers.get('x-culvert-dropped'), null);
  assert.equal((lastBody() as { seed?: number }).seed, 7);
  const native = await gateway.fetch('/v1beta/interactions', { json: { ...json, model: 'native' } });
  assert.equal(native.headers.get('x-culvert-dropped'), 'generation_config.seed');
  const searching = await gateway.fetch('/v1beta/interactions', {
    json: { ...json, model: 'native', tools: [{ type: 'google_search' }] },
  });
  assert.match(searching.headers.get('x-culvert-dropped') ?? '', /generation_config\.stop_sequences/);
});

test('stop sequences and a seed of another kind return 400 with their field', async () => {
  for (const [field, value] of [
    ['stop_sequences', 'END'],
    ['stop_sequences', [1]],
    ['seed', 'x'],
    ['seed', 0.5],
  ] as const) {
    const json = { model: 'chat', input: 'x', generation_config: { [field]: value } };
    const answer = await gateway.fetch('/v1beta/interactions', { json });
    const text = await answer.text();
    assert.equal(answer.status, 400, text);
    assert.match(text, new RegExp(`generation_config\\.${field}`));
  }
});

test('what no other provider has is named in x-culvert-dropped', async () => {
  const json = {
    model: 'chat',
    input: [
      { type: 'user_input', content: [{ type: 'text', text: 'x' }] },
      { type: 'code_execution_call', id: 'c' },
    ],
    generation_config: { seed: 7 },
    tools: [{ type: 'code_execution' }],
    safety_settings: [],
  };
  const answer = await gateway.fetch('/v1beta/interactions', { json });
  assert.equal(answer.status, 200, await answer.clone().text());
  const dropped = answer.headers.get('x-culvert-dropped')?.split(', ').toSorted();
  assert.deepEqual(dropped, ['input.code_execution_call', 'safety_settings', 'tools.code_execution']);
});
