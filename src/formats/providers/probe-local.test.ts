// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { genuineServers, nearMisses } from '../../../test/fixtures/local-servers.ts';
import { providerTypes } from './catalog.ts';
import type { LocalServerType } from './local-fingerprint.ts';
import { localFingerprints } from './local-fingerprints.ts';
import { type PortOpens, type ProbeGet, portOpens, probeGet } from './probe-get.ts';
import { probeBodyBytesMax, probeLocalServers } from './probe-local.ts';

/** A genuine server is found however busy this machine is. */
const patientMs = 30_000;
/** The real one on IPv4 alone: another test's server may hold the same port on [::1]. */
const onIpv4: ProbeGet = (url, bounds) =>
  url.includes('[::1]') ? Promise.resolve(null) : probeGet(url, { ...bounds, timeoutMs: patientMs });
/** And the other way round. */
const onIpv6: ProbeGet = (url, bounds) =>
  url.includes('[::1]') ? probeGet(url, { ...bounds, timeoutMs: patientMs }) : Promise.resolve(null);
/** In the time that it really has. */
const inTime: ProbeGet = (url, bounds) => (url.includes('[::1]') ? Promise.resolve(null) : probeGet(url, bounds));
const opensAtLast: PortOpens = (origin) => portOpens(origin, patientMs);

const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

interface Received {
  method: string;
  url: string;
  headers: NodeJS.Dict<string | string[]>;
}

async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<{ port: number; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    received.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return { port: (server.address() as AddressInfo).port, received };
}

/** Answers by path: an object as JSON, a string as text, [status, body] with that status; else 404. */
function replay(answers: Readonly<Record<string, unknown>>): RequestListener {
  return (request, response) => {
    const found = answers[request.url ?? ''];
    const [status, body] = Array.isArray(found)
      ? (found as [number, unknown])
      : [found === undefined ? 404 : 200, found ?? '{}'];
    response.writeHead(status, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Every kind is looked for on this one port: none may be taken for another. */
function everywhere(port: number): Record<LocalServerType, number> {
  return Object.fromEntries(localFingerprints.map(({ type }) => [type, port])) as Record<LocalServerType, number>;
}

describe('local servers are recognised by two facts', () => {
  for (const { name, answers, type, models, note, use = 'provider', basePath = '/v1' } of genuineServers) {
    test(name, async () => {
      const { port, received } = await serve(replay(answers));
      const found = await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port), portOpens: opensAtLast });
      assert.deepEqual(
        found.map((server) => server.type),
        [type],
      );
      assert.equal(found[0]?.url, `http://127.0.0.1:${port}${basePath}`);
      assert.equal(found[0]?.use, use);
      assert.deepEqual(
        found[0]?.models.map((model) => model.id),
        models,
      );
      if (note === null) assert.equal(found[0]?.note, null);
      else assert.match(found[0]?.note ?? '', note);
      for (const { method, headers } of received) {
        assert.equal(method, 'GET');
        assert.equal(headers.authorization ?? headers['x-api-key'], undefined);
      }
    });
  }

  test('each is told by a name, and has a provider that can use it unless it is only listed', () => {
    const seen = new Set(genuineServers.map(({ type }) => type));
    for (const { type, title, use } of localFingerprints) {
      assert.ok(seen.has(type), `${type} has no example`);
      assert.equal(use === 'provider' ? providerTypes.get(type)?.title : title, title);
    }
  });

  test('fourteen of them at once, each on a port of its own, are told apart', async () => {
    const firsts = [...new Map(genuineServers.toReversed().map((server) => [server.type, server])).values()];
    assert.equal(firsts.length, localFingerprints.length);
    const ports: Partial<Record<LocalServerType, number>> = {};
    for (const { type, answers } of firsts) ports[type] = (await serve(replay(answers))).port;
    const found = await probeLocalServers({ probeGet: onIpv4, ports, portOpens: opensAtLast });
    assert.deepEqual(
      found.map(({ type }) => type),
      localFingerprints.map(({ type }) => type),
    );
  });

  test('each address is asked once, whoever wants it, and nothing where no one listens', async () => {
    const { port, received } = await serve(replay({}));
    await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port), portOpens: opensAtLast });
    const urls = received.map(({ url }) => url);
    assert.equal(new Set(urls).size, urls.length);
    const calls: string[] = [];
    const noting: ProbeGet = async (url) => {
      calls.push(url);
      return null;
    };
    assert.deepEqual(await probeLocalServers({ probeGet: noting, portOpens: async () => false }), []);
    assert.deepEqual(calls, []);
    assert.equal(await opensAtLast(`http://127.0.0.1:${port}`, 0), true);
    assert.equal(await opensAtLast(`http://10.0.0.1:${port}`, 0), false, 'loopback only');
  });

  for (const [name, answers] of Object.entries(nearMisses)) {
    test(`not enough: ${name}`, async () => {
      const { port } = await serve(replay(answers));
      assert.deepEqual(
        await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port), portOpens: opensAtLast }),
        [],
      );
    });
  }

  test('a server on [::1] alone is found there', async (context) => {
    const port = await serve(replay(genuineServers[0]!.answers), '::1').then(
      (served) => served.port,
      () => null,
    );
    if (port === null) return context.diagnostic('no IPv6 loopback on this machine');
    const [found] = await probeLocalServers({ probeGet: onIpv6, ports: everywhere(port), portOpens: opensAtLast });
    assert.equal(found?.url, `http://[::1]:${port}/v1`);
  });
});

describe('liars are not taken for a server', () => {
  let strayed = 0;
  const liars: Readonly<Record<string, (elsewhere: number) => RequestListener>> = {
    'HTML 200 everywhere': () => (_, response) => response.end('<html>Ollama is running</html>'),
    'an endless body': () => (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
    'a redirect to another host': (elsewhere) => (request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${elsewhere}${request.url}` }).end(),
    'wrong JSON everywhere': () => (_, response) =>
      response.end('{"version":1,"models":[7],"data":[null],"lmstudio":"true"}'),
    'a server that hangs': () => () => {},
    '401 everywhere': () => (_, response) => response.writeHead(401).end('{"error":"unauthorized"}'),
  };
  for (const [name, liar] of Object.entries(liars)) {
    test(name, async () => {
      const genuineReplay = replay(genuineServers[0]!.answers);
      const elsewhere = await serve((request, response) => {
        strayed++;
        genuineReplay(request, response);
      });
      const { port } = await serve(liar(elsewhere.port));
      assert.deepEqual(
        await probeLocalServers({ probeGet: inTime, ports: everywhere(port), portOpens: opensAtLast }),
        [],
      );
      assert.equal(strayed, 0, 'the probe followed a redirect');
    });
  }
});

test('the probe reaches loopback only, and gives up at its bounds', async () => {
  const bounds = { timeoutMs: patientMs, bodyBytesMax: 64 };
  const { port } = await serve((request, response) => response.end('x'.repeat(request.url === '/big' ? 65 : 64)));
  const other = await serve((_, response) => response.end('x'), '127.0.0.2');
  const elsewhere = [`http://127.0.0.2:${other.port}/`, `http://localhost:${port}/`, `https://127.0.0.1:${port}/`];
  for (const url of elsewhere) assert.equal(await probeGet(url, bounds), null, url);
  assert.equal(other.received.length, 0);
  assert.equal((await probeGet(`http://127.0.0.1:${port}/`, bounds))?.body.length, 64);
  assert.equal(await probeGet(`http://127.0.0.1:${port}/big`, bounds), null);
  assert.equal(probeBodyBytesMax, 65_536);
});

test('an answer that breaks off is known at once, not at the bound', async () => {
  const { port } = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"version":"0.13.0"');
    setImmediate(() => response.destroy());
  });
  const answer = probeGet(`http://127.0.0.1:${port}/`, { timeoutMs: 2 * patientMs, bodyBytesMax: 64 });
  assert.equal(await Promise.race([answer, sleep(patientMs, 'late', { ref: false })]), null);
});

test('every address is asked before any has answered', async () => {
  const waiting: (() => void)[] = [];
  const paths = new Set(localFingerprints.flatMap(({ paths }) => paths));
  const probeGet: ProbeGet = (url) =>
    new Promise((resolve) => {
      waiting.push(() => resolve(null));
      // On both addresses.
      if (waiting.length === paths.size * 2) for (const answer of waiting) answer();
      assert.ok(url.startsWith('http://'));
    });
  assert.deepEqual(await probeLocalServers({ probeGet, ports: everywhere(1), portOpens: async () => true }), []);
});

test('nothing on any port: an empty finding, whatever the probe throws', async () => {
  assert.deepEqual(
    await probeLocalServers({ probeGet: () => Promise.reject(new Error('boom')), portOpens: async () => true }),
    [],
  );
});
