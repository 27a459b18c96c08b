import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* PDFs in conversations: Groq and Cerebras return 400 for parts of the type `file`. */

const upstream = await startUpstream();
after(upstream.close);
beforeEach(() => upstream.clear());
const provider = (type: string) => ({ type, base_url: `${upstream.url}/v1`, api_key: `k-${type}` });
const gateway = await startGateway({ after } as TestContext, {
  providers: { groq: provider('groq'), cerebras: provider('cerebras'), openai: provider('openai') },
  models: {
    two: {
      targets: ['groq/mock/ok', 'cerebras/mock/ok', { provider: 'openai', model: 'mock/ok', priority: 2 }],
    },
    groq: { targets: ['groq/mock/ok'] },
    cerebras: { targets: ['cerebras/mock/ok'] },
    able: { targets: [{ provider: 'groq', model: 'mock/ok', capabilities: { files: true } }] },
  },
});

const base64 = Buffer.from('%PDF-1.4').toString('base64');
const url = `data:application/pdf;base64,${base64}`;
const user = (...content: object[]) => [{ role: 'user', content }];
const formats = {
  '/v1/chat/completions': { messages: user({ type: 'file', file: { filename: 'a.pdf', file_data: url } }) },
  '/v1/responses': { store: false, input: user({ type: 'input_file', filename: 'a.pdf', file_data: url }) },
  '/v1/messages': {
    max_tokens: 9,
    messages: user({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64 } }),
  },
};
const others = (model: string) => ({
  [`/v1beta/models/${model}:generateContent`]: {
    contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'application/pdf', data: base64 } }] }],
  },
  [`/model/${model}/converse`]: {
    messages: user({ document: { format: 'pdf', name: 'a', source: { bytes: base64 } } }),
  },
});

async function ask(path: string, json: object) {
  const response = await gateway.fetch(path, { json });
  return { status: response.status, text: await response.text(), by: response.headers.get('x-culvert-provider') };
}

const asked = () => upstream.requests().filter(({ method }) => method === 'POST');
const of = (model: string) => ({
  ...Object.fromEntries(Object.entries(formats).map(([path, body]) => [path, { ...body, model }])),
  ...others(model),
});

test('a PDF goes to the target that takes it', async () => {
  for (const [path, body] of Object.entries(of('two'))) {
    const { status, text, by } = await ask(path, body);
    assert.equal(status, 200, `${path} ${text}`);
    assert.equal(by, 'openai', path);
  }
  assert.equal(asked().length, 5);
});

for (const model of ['groq', 'cerebras']) {
  test(`${model} gets no PDF, and the refusal names the field`, async () => {
    for (const [path, body] of Object.entries(of(model))) {
      const { status, text } = await ask(path, body);
      assert.equal(status, 400, `${path} ${text}`);
      assert.match(text, /files such as PDFs/, path);
      assert.match(text, /Use 'able' or 'two', or leave that out|Use 'two' or 'able', or leave that out/, path);
    }
    const { status, text } = await ask('/v1/chat/completions', { ...formats['/v1/chat/completions'], model });
    assert.equal(status, 400);
    assert.equal((JSON.parse(text) as { error: { param: string } }).error.param, 'messages');
    assert.deepEqual(asked(), []);
  });
}

test('a document that is a text is one there, too', async () => {
  const source = { type: 'text', media_type: 'text/plain', data: 'The sky is green.' };
  const messages = user({ type: 'document', source });
  const { status, text } = await ask('/v1/messages', { model: 'groq', max_tokens: 9, messages });
  assert.equal(status, 200, text);
  assert.match(JSON.stringify(asked()[0]?.body), /The sky is green/);
});

test('capabilities.files says otherwise for a target', async () => {
  const { status, text } = await ask('/v1/chat/completions', { ...formats['/v1/chat/completions'], model: 'able' });
  assert.equal(status, 200, text);
  assert.match(JSON.stringify(asked()[0]?.body), /application\/pdf/);
});
