import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

const pictureBytes = 19 * 1024 * 1024;
/** It took 75 ms in one piece. */
const turnMsMax = 30;
const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(pictureBytes, 'culvert')]);

/** Answers a POST with the SHA-256 of the longest text in it, without the head of a data URL, and a GET with the picture. */
const peer = `
const { createHash } = require('node:crypto');
const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(${pictureBytes}, 'culvert')]);
require('node:http').createServer((request, response) => {
  if (request.method === 'GET') return request.url === '/p' ? response.end(picture) : response.writeHead(404).end();
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => {
    let longest = '';
    JSON.parse(Buffer.concat(parts), (_, value) => {
      if (typeof value === 'string' && value.length > longest.length) longest = value;
    });
    const content = createHash('sha256').update(longest.slice(longest.indexOf(',') + 1)).digest('hex');
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] }));
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

async function startPeer(t: TestContext): Promise<string> {
  const child = spawn(process.execPath, ['-e', peer], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  return `127.0.0.1:${Number(String((await once(child.stdout, 'data'))[0]))}`;
}

/** CPU time that this thread took in its longest turn of the loop while `work` was done, ms. */
async function longestTurnMs(work: () => Promise<void>): Promise<number> {
  let most = 0;
  let last = process.threadCpuUsage();
  let isOver = false;
  const look = () => {
    const { user, system } = process.threadCpuUsage(last);
    most = Math.max(most, (user + system) / 1_000);
    last = process.threadCpuUsage();
    if (!isOver) setImmediate(look);
  };
  look();
  await work();
  isOver = true;
  return most;
}

test('F23 a picture of 20 MB that is fetched for an engine holds up nobody', async (t) => {
  const host = await startPeer(t);
  const gateway = await startGateway(t, {
    providers: { engine: { type: 'vllm', base_url: `http://${host}/v1`, api_key: 'upstream-secret' } },
    models: { chat: { targets: ['engine/mock/ok'] } },
    fetch: { allow_private: [host] },
    server: { processes: 1 },
  });
  await gateway.modelsKnown;
  const sent = createHash('sha256').update(picture.toString('base64')).digest('hex');
  const ask = async () => {
    const content = [{ type: 'image_url', image_url: { url: `http://${host}/p` } }];
    const json = { model: 'chat', messages: [{ role: 'user', content }] };
    const answer = await (await gateway.fetch('/v1/chat/completions', { json })).text();
    assert.ok(answer.includes(sent), answer);
  };
  await ask();
  const turnsMs: number[] = [];
  for (let round = 0; round < 4; round += 1) turnsMs.push(await longestTurnMs(ask));
  // A collection of garbage may fall into any of them.
  assert.ok(Math.min(...turnsMs) < turnMsMax, `${turnsMs.map(Math.round)} ms`);
});
