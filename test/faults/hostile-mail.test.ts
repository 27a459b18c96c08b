import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';

/** The port of a mail server that speaks so. */
async function startSmtp(t: TestContext, speak: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => speak(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('a mail server that repeats the password, and one that never ends, are reported without it and in time', async (t) => {
  const password = 'p@ss-of-mail';
  const encoded = [`\0culvert\0${password}`, password].map((text) => Buffer.from(text).toString('base64'));
  const greeted = '250-mail\r\n250 AUTH PLAIN\r\n';
  const repeats = await startSmtp(t, (socket) => {
    socket.write('220 mail\r\n');
    socket.on('data', (line) => socket.write(`${line}`.startsWith('EHLO') ? greeted : `535 ${password} ${line}`));
  });
  const endless = await startSmtp(t, (socket) => {
    socket.once('data', () => {
      const dripping = setInterval(() => socket.write('250-mail\r\n'), 200);
      socket.on('close', () => clearInterval(dripping));
    });
    socket.write('220 mail\r\n');
  });
  const tested = async (port: number) => {
    const smtp = { url: `smtp://culvert:${encodeURIComponent(password)}@127.0.0.1:${port}`, from: 'c@example.org' };
    const alerts = { to: [{ name: 'mail', email: ['ops@example.org'] }] };
    const gateway = await startGateway(t, { server: { smtp }, telemetry: { alerts } });
    const headers = { authorization: `Bearer ${adminKey}` };
    return (await fetch(`${gateway.url}/admin/v1/alerts/test`, { method: 'POST', headers })).text();
  };
  const [first, second] = await Promise.all([tested(repeats), tested(endless)]);
  assert.match(first, /535 \[redacted\]/);
  for (const text of [password, ...encoded]) assert.ok(!first.includes(text), first);
  assert.match(second, /the mail server took more than \d+ s/);
});
