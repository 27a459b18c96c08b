import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { wavOf } from '../scripted-transcriber.ts';
import { startGateway } from '../start-gateway.ts';
import { startQuietUpstream } from './quiet-upstream.ts';
import { quietIn, quietOut, shoutStep } from './shout-step.ts';

/** Families beside conversations: their requests and answers pass the steps too. */
const upstream = await startQuietUpstream();
after(upstream.close);
const step = shoutStep();
const provider = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const types = ['chat', 'embedding', 'transcription', 'image', 'rerank', 'moderation', 'ocr'] as const;
const gateway = await startGateway(
  { after } as TestContext,
  {
    providers: { openai: { type: 'openai', ...provider }, mistral: { type: 'mistral', ...provider } },
    models: Object.fromEntries(
      types.map((type) => [type, { type, targets: [{ provider: type === 'ocr' ? 'mistral' : 'openai', model: 'm' }] }]),
    ),
  },
  { steps: [{ step, on: 'server' }] },
);

const word = `hush ${quietIn} now`;
const sound = () => new File([wavOf(1, 16_000)], 'a.wav', { type: 'audio/wav' });

function form(fields: Record<string, string | File>): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  return made;
}

interface Case {
  path: string;
  json?: object;
  form?: () => FormData;
  /** Its answer has texts. */
  answers?: false;
}

const cases: Record<string, Case> = {
  completions: { path: '/v1/completions', json: { model: 'chat', prompt: word } },
  'streamed completions': { path: '/v1/completions', json: { model: 'chat', prompt: word, stream: true } },
  embeddings: { path: '/v1/embeddings', json: { model: 'embedding', input: [word] }, answers: false },
  rerank: { path: '/v1/rerank', json: { model: 'rerank', query: word, documents: [word] }, answers: false },
  moderations: { path: '/v1/moderations', json: { model: 'moderation', input: word }, answers: false },
  images: { path: '/v1/images/generations', json: { model: 'image', prompt: word } },
  transcription: {
    path: '/v1/audio/transcriptions',
    form: () => form({ model: 'transcription', prompt: word, file: sound() }),
  },
  'transcription as text': {
    path: '/v1/audio/transcriptions',
    form: () => form({ model: 'transcription', prompt: word, response_format: 'text', file: sound() }),
  },
  'streamed transcription': {
    path: '/v1/audio/transcriptions',
    form: () => form({ model: 'transcription', prompt: word, stream: 'true', file: sound() }),
  },
  ocr: {
    path: '/v1/ocr',
    json: { model: 'ocr', document: { type: 'document_url', document_url: 'https://example.org/a.pdf' }, user: word },
  },
};

for (const [name, { path, json, form: formOf, answers }] of Object.entries(cases)) {
  test(`a step changes the texts of request and answer: ${name}`, async () => {
    upstream.bodies.length = 0;
    step.seen.length = 0;
    const response = await gateway.fetch(
      path,
      json === undefined ? { method: 'POST', body: formOf?.() ?? null } : { json },
    );
    const answer = await response.text();
    assert.equal(response.status, 200, answer);
    const sent = upstream.bodies.join('\n');
    assert.ok(!sent.includes(quietIn), sent.slice(0, 2_000));
    if (name !== 'ocr') assert.ok(sent.includes('LOUDIN'), sent.slice(0, 2_000));
    assert.notEqual(step.seen[0]?.texts, null, 'somebody reads it');
    assert.notEqual(step.seen[0]?.canonical, null);
    const shown = textOf(answer);
    assert.ok(!shown.includes(quietOut), answer);
    if (answers !== false) assert.ok(shown.includes('LOUDOUT'), answer);
  });
}

/** The pieces of a stream in one, or the whole answer. */
function textOf(answer: string): string {
  if (!answer.includes('data: ')) return answer;
  const events = answer.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
  return events.map((event) => event.choices?.[0]?.text ?? event.delta ?? event.text ?? '').join('') + answer;
}

test('a step refuses an answer of another family: whole with an error, streamed at its place', async (t) => {
  const failure = { kind: 'invalid-request', message: 'No such texts here.', param: null } as const;
  const refusing = {
    begin: () => ({
      answer: () => ({ push: (text: string) => (text.includes('two') ? failure : text), end: () => '' }),
    }),
  };
  const strict = await startGateway(
    t,
    { providers: { openai: { type: 'openai', ...provider } }, models: { chat: { targets: ['openai/m'] } } },
    { steps: [{ step: refusing, on: 'server' }] },
  );
  const ask = (stream: boolean) =>
    strict.fetch('/v1/completions', { json: { model: 'chat', prompt: 'p', stream } }).then(async (response) => ({
      status: response.status,
      body: await response.text(),
    }));
  const whole = await ask(false);
  assert.equal(whole.status, 400, whole.body);
  assert.match(whole.body, /No such texts here/);
  const { body } = await ask(true);
  assert.match(body, /No such texts here/);
  assert.doesNotMatch(body, /ieto/, 'what comes after the refusal stays away');
});
