import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { imagesPath, inBase64, png, startDrawing } from '../contract/image-world.ts';
import { startGateway } from '../start-gateway.ts';

const unfinished = 100;
/** Bytes that two sockets hold by themselves, and those that wait for a reader here. */
const heldBytesMax = 20 * 1024 * 1024;

const event = (type: string, picture: Buffer) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: picture.toString('base64') })}\n\n`;

test(`F19 a reader who stops while ${unfinished} MB of unfinished pictures come misses most of them, and gets the finished one`, async (t) => {
  const upstream = await startDrawing(inBase64);
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { one: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
    models: { gpt: { type: 'image', targets: ['one/gpt-image-1'] } },
  });
  await gateway.modelsKnown;
  let drew: () => void;
  const drawn = new Promise<void>((resolve) => {
    drew = resolve;
  });
  upstream.script.push(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frame = event('image_generation.partial_image', Buffer.alloc(750_000));
    for (let i = 0; i < unfinished; i++) if (!response.write(frame)) await once(response, 'drain');
    response.end(event('image_generation.completed', png(9)));
    drew();
  });

  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname).pause();
  const body = JSON.stringify({ model: 'gpt', prompt: 'an otter', stream: true, partial_images: 2 });
  socket.write(
    `POST ${imagesPath} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await drawn;
  // Until the last of it has been read here.
  await pause(500);
  let bytes = 0;
  let end = '';
  for await (const chunk of socket.resume()) {
    bytes += (chunk as Buffer).length;
    end = (end + (chunk as Buffer).toString('latin1')).slice(-2_000);
  }
  assert.ok(end.includes(png(9).toString('base64')), 'the finished one came');
  assert.ok(bytes <= heldBytesMax, `${bytes} bytes waited`);
});
