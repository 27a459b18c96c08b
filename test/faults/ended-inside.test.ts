import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const messages = [{ role: 'user', content: 'Hello' }];
/** Formats whose streams pass unchanged, with their end marks. */
const formats = {
  'chat completions': { path: '/v1/chat/completions', asked: { model: 'openai', messages }, end: 'data: [DONE]\n\n' },
  completions: { path: '/v1/completions', asked: { model: 'openai', prompt: 'Hello' }, end: 'data: [DONE]\n\n' },
  messages: {
    path: '/v1/messages',
    asked: { model: 'anthropic', max_tokens: 9, messages },
    end: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  },
} as const;

for (const [format, { path, asked, end }] of Object.entries(formats)) {
  test(`F13 a stream (${format}) that ends inside its last events: the caller can read each that it gets`, async (t) => {
    const json = { ...asked, stream: true };
    const wire = await streamOf(path, json);
    let at = 0;
    const url = await endingServer(t, () => wire.subarray(0, at));
    const gateway = await startGateway(t, {
      providers: {
        openai: { type: 'openai', base_url: `${url}/v1`, api_key: 'a' },
        anthropic: { type: 'anthropic', base_url: url, api_key: 'b' },
      },
      models: { openai: { targets: ['openai/m'] }, anthropic: { targets: ['anthropic/m'] } },
    });
    await gateway.modelsKnown;
    const headers = { 'x-culvert-no-fallback': 'true' };
    for (at = wire.length; at > wire.length - 3 * end.length; at--) {
      const answer = await (await gateway.fetch(path, { json, headers })).text();
      for (const data of dataOf(answer)) {
        if (data !== '[DONE]') assert.doesNotThrow(() => JSON.parse(data), `byte ${at} of ${wire.length}: ${data}`);
      }
      assert.equal(answer.includes(end), !answer.includes('"error"'), `byte ${at}: it ends, or says that it broke off`);
    }
  });
}

async function streamOf(path: string, json: object): Promise<Buffer> {
  const upstream = await startUpstream();
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(upstream.url + path, { method: 'POST', headers, body: JSON.stringify(json) });
  const wire = Buffer.from(await answer.arrayBuffer());
  await upstream.close();
  return wire;
}

/** Answers with these bytes and a clean end. */
async function endingServer(t: TestContext, bytes: () => Buffer): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.method !== 'POST') return response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(bytes());
    });
  });
  return listening(t, server);
}

/** As clients read events: an event's data even when it is empty. */
function dataOf(answer: string): string[] {
  const blocks = answer.split('\n\n').filter((block) => block !== '');
  return blocks.flatMap((block) => {
    const lines = block.split('\n').filter((line) => /^data(:|$)/.test(line));
    return lines.length === 0 ? [] : [lines.map((line) => line.replace(/^data:? ?/, '')).join('\n')];
  });
}
