import { parentPort } from 'node:worker_threads';
import { testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/** What the gateway's thread wants: one chat, read to its end. */
export interface ChatOrder {
  url: string;
  model: string;
  stream: boolean;
}

// Both ends of the gateway are here, so that its own thread does the gateway's work and no other.
const upstream = await startUpstream();
parentPort!.postMessage(upstream.url);
parentPort!.on('message', async ({ url, model, stream }: ChatOrder) => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const text = await response.text();
  parentPort!.postMessage(
    response.status === 200 && !text.includes('"error"') ? 'answered' : `${response.status} ${text}`,
  );
});
