import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { mp3Frames } from '../../src/simulator/media/sound-assets.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Members that repeat a text in pieces, in which no guard finds what it finds in the text. */

const pieces = ['Call ', '+49 30 ', '901', '820', '.'];
const plain = ['Nothing ', 'here', '.'];
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  if (request.method !== 'POST') return response.end('{"data":[]}');
  const said = body.includes('harmless') ? plain : pieces;
  const text = said.join('');
  const tokens = said.map((token) => ({ token, logprob: -0.1, bytes: [...Buffer.from(token)] }));
  const words = said.map((word, at) => ({ word, start: at, end: at + 1 }));
  const listed = { tokens: said, token_logprobs: said.map(() => -0.1), text_offset: said.map(() => 0) };
  const isStream = body.includes('"stream":true') || body.includes('name="stream"');
  const isTranscript = request.url?.endsWith('/transcriptions') === true;
  if (!isStream) {
    response.setHeader('content-type', 'application/json');
    const segment = { id: 0, start: 0, end: 1, text, tokens: [1, 2, 3], words };
    const completion = { choices: [{ index: 0, text, logprobs: listed, finish_reason: 'stop' }] };
    return response.end(
      JSON.stringify(
        isTranscript
          ? { text, language: 'english', duration: 1, words, logprobs: tokens, segments: [segment] }
          : { id: 'c', object: 'text_completion', created: 1, model: 'm', ...completion },
      ),
    );
  }
  response.setHeader('content-type', 'text/event-stream');
  const send = (event: object) => response.write(`data: ${JSON.stringify(event)}\n\n`);
  for (const token of tokens) {
    const logprobs = isTranscript ? [token] : { tokens: [token.token] };
    if (isTranscript) send({ type: 'transcript.text.delta', delta: token.token, logprobs });
    else send({ id: 'c', object: 'text_completion', choices: [{ index: 0, text: token.token, logprobs }] });
  }
  if (isTranscript) send({ type: 'transcript.text.done', text, logprobs: tokens });
  return response.end('data: [DONE]\n\n');
});
const guard = { check: 'personal-data', kinds: ['phone'], on: ['output'] };
const up = { type: 'openai', base_url: `${await listening({ after }, upstream)}/v1`, api_key: 'k' };
const gateway = await startGateway({ after } as TestContext, {
  providers: { up },
  guards: { mask: { ...guard, action: 'mask' }, flag: { ...guard, action: 'flag' } },
  models: Object.fromEntries(
    ['mask', 'flag'].flatMap((name) => [
      [name, { targets: ['up/m'], guards: [name] }],
      [`hears-${name}`, { type: 'transcription', targets: ['up/m'], guards: [name] }],
    ]),
  ),
});

async function transcript(name: string, prompt: string, stream = false): Promise<string> {
  const form = new FormData();
  form.set('model', `hears-${name}`);
  form.set('prompt', prompt);
  form.set('response_format', stream ? 'json' : 'verbose_json');
  if (stream) form.set('stream', 'true');
  else form.append('timestamp_granularities[]', 'word');
  form.set('file', new Blob([new Uint8Array(mp3Frames)], { type: 'audio/mpeg' }), 'a.mp3');
  const response = await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body: form });
  return response.text();
}

async function completion(model: string, prompt: string, stream = false): Promise<string> {
  const response = await gateway.fetch('/v1/completions', { json: { model, prompt, stream, logprobs: 1 } });
  return response.text();
}

for (const [kind, ask] of Object.entries({ transcript, completion })) {
  test(`a masked ${kind} is not repeated in pieces`, async () => {
    const text = await ask('mask', 'x');
    assert.match(text, /Call <PHONE_1>\./);
    assert.doesNotMatch(text, /901|820|"words"|\[1,2,3\]/);
    const streamed = await ask('mask', 'x', true);
    assert.match(streamed, /<PHONE_1>/);
    // The id of a request may have these digits, too.
    assert.doesNotMatch(streamed.replaceAll(/req_[0-9a-f-]+/g, ''), /901|820/);
  });

  test(`a ${kind} that stays as it is has its pieces`, async () => {
    for (const [name, prompt] of [
      ['mask', 'harmless'],
      ['flag', 'x'],
    ] as const) {
      const answer = JSON.parse(await ask(name, prompt)) as JsonObject;
      const [choice] = (answer.choices ?? [answer]) as JsonObject[];
      assert.ok(choice?.logprobs ?? choice?.words, JSON.stringify(answer));
    }
  });
}
