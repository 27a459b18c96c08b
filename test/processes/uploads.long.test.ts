import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { apart, inOnly, overBoth, startProcesses } from './start-processes.ts';

overBoth('of two pieces of an upload that reach two workers at once one is kept, and one refused', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url);
  const [one = 0, other = 0] = gateway.workers();
  const open = (url: string, command: string, more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${testKey}`, 'x-goog-upload-command': command, ...more };
    const call = request(url, { method: 'POST', headers, agent: apart });
    const answer = once(call, 'response').then(async ([response]: IncomingMessage[]) => {
      let text = '';
      for await (const piece of response!.setEncoding('utf8')) text += String(piece);
      return { status: response!.statusCode, headers: response!.headers, text };
    });
    return { call, answer };
  };
  const first = { 'x-goog-upload-offset': '0' };
  const begun = open(`${gateway.url}/upload/v1beta/files`, 'start', { 'x-goog-upload-protocol': 'resumable' });
  begun.call.end();
  const address = String((await begun.answer).headers['x-goog-upload-url']);
  const slow = open(address, 'upload', { ...first, expect: '100-continue' });
  await inOnly(other, async () => {
    slow.call.flushHeaders();
    await once(slow.call, 'continue');
    slow.call.write('slow');
  });
  const quick = open(address, 'upload', first);
  await inOnly(one, async () => {
    quick.call.end('quick');
    assert.equal((await quick.answer).status, 200);
  });
  slow.call.end('er');
  const late = await slow.answer;
  assert.equal(late.status, 409, late.text);
  const rest = open(address, 'upload, finalize', { 'x-goog-upload-offset': '5' });
  rest.call.end(' and whole');
  const { file } = JSON.parse((await rest.answer).text) as { file: { downloadUri: string } };
  const content = await fetch(file.downloadUri, { headers: { authorization: `Bearer ${testKey}` } });
  assert.equal(await content.text(), 'quick and whole');
});
