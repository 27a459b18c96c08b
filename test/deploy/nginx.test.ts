import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { SocketCaller } from '../contract/heard-events.ts';
import { cert, trustLoopbackCertificate } from '../loopback-certificate.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { nginxMissing, nginxSites, startNginx } from '../start-nginx.ts';
import type { Lifetime } from '../start-process.ts';
import { startRealtime } from '../upstream-formats/start-realtime.ts';

trustLoopbackCertificate();

for (const site of nginxSites)
  test(`behind ${site} of deploy/ streams flow, realtime sessions open and uploads arrive`, {
    skip: nginxMissing,
  }, async (t) => {
    const [slow, realtime] = [await startHalfAnswer(t), await startRealtime(t)];
    const gateway = await startGateway(t, {
      providers: {
        slow: { type: 'openai', base_url: `${slow.url}/v1`, api_key: 'k' },
        talk: { type: 'openai', base_url: `${realtime.url}/v1`, api_key: 'k' },
      },
      models: { chat: { targets: ['slow/m'] }, voice: { targets: ['talk/gpt-realtime'] } },
    });
    const { origin } = await startNginx(t, site, [gateway.url]);
    const headers = { authorization: `Bearer ${testKey}` };

    const answer = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    assert.equal(answer.status, 200, await (answer.ok ? '' : answer.text()));
    let text = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      // The second half is not even made before the first is here.
      if (text.includes('first')) slow.finish();
    }
    assert.match(text, /first[\s\S]*second[\s\S]*\[DONE\]/);

    const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/realtime?model=voice`, { headers, ca: cert });
    const caller = new SocketCaller(socket);
    const refused = once(socket, 'unexpected-response').then(([, { statusCode }]) => assert.fail(`${statusCode}`));
    await Promise.race([once(socket, 'open'), refused]);
    await caller.heard('session.created');
    caller.send('response.create');
    await caller.heard('response.done');
    await caller.close();

    const content = randomBytes(3_000_000);
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob([content]), 'notes.bin');
    const uploaded = await fetch(`${origin}/v1/files`, { method: 'POST', headers, body: form });
    const { id, bytes } = (await uploaded.json()) as { id: string; bytes: number };
    assert.deepEqual([uploaded.status, bytes], [200, content.length]);
    const read = await fetch(`${origin}/v1/files/${id}/content`, { headers });
    assert.ok(Buffer.from(await read.arrayBuffer()).equals(content));
  });

/** An upstream whose streamed answer ends when the test says so. */
async function startHalfAnswer(t: Lifetime): Promise<{ url: string; finish(): void }> {
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  const frame = (content: string, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason }] })}\n\n`;
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(404).end('{}');
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frame('first '));
    await promise;
    response.end(`${frame('second', 'stop')}data: [DONE]\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    finish();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, finish };
}
