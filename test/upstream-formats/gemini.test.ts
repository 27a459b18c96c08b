import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { GoogleGenAI } from '@google/genai';
import { startUpstream } from '../start-upstream.ts';

const upstream = await startUpstream({ models: ['gemini-3-pro', 'sim/chat'] });
after(() => upstream.close());
const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: upstream.url } });
const tools = [
  {
    functionDeclarations: [
      { name: 'get_weather', parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } } },
      { name: 'get_time' },
    ],
  },
];

test("Google's SDK reads a whole answer, its thoughts and its usage", async () => {
  const answer = await google.models.generateContent({
    model: 'gemini-2.5-flash',
    contents: 'hi',
    config: { thinkingConfig: { includeThoughts: true } },
  });
  assert.match(answer.text ?? '', /hi/);
  const parts = answer.candidates?.[0]?.content?.parts ?? [];
  assert.equal(parts[0]?.thought, true);
  assert.equal(answer.candidates?.[0]?.finishReason, 'STOP');
  const usage = answer.usageMetadata!;
  assert.equal(
    usage.totalTokenCount,
    usage.promptTokenCount! + usage.candidatesTokenCount! + usage.thoughtsTokenCount!,
  );
});

test("Google's SDK reads a stream, the same text in pieces", async () => {
  const stream = await google.models.generateContentStream({ model: 'gemini-2.5-flash', contents: 'count to three' });
  const texts: string[] = [];
  let last: string | undefined;
  for await (const chunk of stream) {
    if (chunk.text) texts.push(chunk.text);
    last = chunk.candidates?.[0]?.finishReason ?? last;
  }
  const whole = await google.models.generateContent({ model: 'gemini-2.5-flash', contents: 'count to three' });
  assert.ok(texts.length > 1);
  assert.equal(texts.join(''), whole.text);
  assert.equal(last, 'STOP');
});

test('newer models number their calls, sign the first and want the signature back', async () => {
  const asked = { role: 'user', parts: [{ text: 'call get_weather and call get_time' }] };
  const first = await google.models.generateContent({ model: 'gemini-3-pro', contents: [asked], config: { tools } });
  const content = first.candidates![0]!.content!;
  const calls = content.parts!.map((part) => part.functionCall!);
  assert.deepEqual(
    calls.map(({ name }) => name),
    ['get_weather', 'get_time'],
  );
  assert.ok(calls.every(({ id }) => id !== undefined));
  assert.deepEqual(
    content.parts!.map((part) => part.thoughtSignature !== undefined),
    [true, false],
  );
  const results = {
    role: 'user',
    parts: calls.map(({ id, name }) => ({ functionResponse: { id: id!, name: name!, response: { output: 'x' } } })),
  };
  const ask = (model: object) =>
    google.models.generateContent({ model: 'gemini-3-pro', contents: [asked, model, results], config: { tools } });
  assert.ok((await ask(content)).text);
  const unsigned = { ...content, parts: content.parts!.map(({ functionCall }) => ({ functionCall: functionCall! })) };
  await assert.rejects(ask(unsigned), /missing a thought_signature/);
  const half = { ...results, parts: results.parts.slice(1) };
  const halfAsked = google.models.generateContent({ model: 'gemini-3-pro', contents: [asked, content, half] });
  await assert.rejects(halfAsked, /number of function response parts/);
});

test('faults are named as Google names them, also by the model in the path', async () => {
  const failing = google.models.generateContent({ model: 'mock/status=503', contents: 'hi' });
  await assert.rejects(failing, (error: { status?: number; message?: string }) => {
    assert.equal(error.status, 503);
    assert.match(error.message ?? '', /UNAVAILABLE/);
    return true;
  });
});

test('models are listed in its own form', async () => {
  const listed: string[] = [];
  for await (const model of await google.models.list()) listed.push(model.name ?? '');
  assert.deepEqual(listed, ['models/gemini-3-pro', 'models/sim/chat']);
});

test('a schema in snake case is read too: Google’s SDK for Python declares functions so', async () => {
  const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const response = await fetch(`${upstream.url}/v1beta/models/sim/chat:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': 'k' },
    body: JSON.stringify({
      contents: [{ role: 'user', parts: [{ text: 'call get_weather' }] }],
      tools: [{ functionDeclarations: [{ name: 'get_weather', parameters_json_schema: city }] }],
    }),
  });
  const answer = (await response.json()) as { candidates: { content: { parts: { functionCall?: object }[] } }[] };
  const call = answer.candidates[0]!.content.parts.find((part) => part.functionCall)?.functionCall;
  assert.equal(typeof (call as { args: { city?: string } } | undefined)?.args.city, 'string');
});
