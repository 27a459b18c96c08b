import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Route } from '../../src/http/exchange.ts';
import { slowness } from '../machine-load.ts';
import { adminKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { closedPlace } from './dead-places.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { type HostileBody, hostileBodies } from './hostile-bodies.ts';
import { mainThreadMs, noThreadTimes } from './main-thread.ts';

/** CPU time that one hostile body may take of the main thread, ms; the best of some rounds counts. */
const loopMsMax = 20;
const roundsMax = 8;
const plainBytes = 2_000_000;

interface Place {
  method: string;
  path: string;
  key: string;
  /** It takes multipart/form-data: the text goes into fields that may hold JSON. */
  isForm: boolean;
}

const bodyMethods: readonly string[] = ['POST', 'PUT', 'PATCH'];
/**
 * Places that send bodies on as they are, or know nothing of that name before they read one; and the one of SAML, which
 * takes none where no provider of identities is configured (test/faults/dashboard-saml.test.ts).
 */
const leavesBodies = /^\/(passthrough\/|dashboard\/saml\/acs$)/;
const scimToken = 'a-bearer-token-of-the-directory-in-tests';

/** What stands for the rest of a path, where its pattern leaves it open. */
const restsOf = ({ path, method }: Pick<Route, 'path' | 'method'>): readonly string[] =>
  path.startsWith('/scim/')
    ? [method === 'POST' ? 'Users' : 'Users/x']
    : path.includes('/anthropic/models/')
      ? ['chat:rawPredict', 'chat:streamRawPredict']
      : path.includes('/models/')
        ? ['generateContent', 'countTokens', 'embedContent', 'batchEmbedContents'].map((method) => `chat:${method}`)
        : ['x'];

/** Every place of the route table that takes a body; those of the admin API by its own table. */
async function placesOf(t: TestContext, config: Record<string, unknown>): Promise<Place[]> {
  const gateway = await startGateway(t, config, {
    pagesFolder: fileURLToPath(new URL('../pages', import.meta.url)),
  });
  const spec = (await (await gateway.fetch('/openapi.json')).json()) as {
    paths: Record<string, Record<string, { requestBody?: { content: object } }>>;
  };
  const plain = gateway.routes.filter(({ method, auth }) => bodyMethods.includes(method) && auth !== 'admin');
  const admin = Object.entries(spec.paths)
    .filter(([path]) => path.startsWith('/admin/v1/'))
    .flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { requestBody }]) => requestBody !== undefined && 'application/json' in requestBody.content)
        .map(([method]) => placeAt({ method: method.toUpperCase(), path }, adminKey)),
    );
  await gateway.close(0);
  // Azure's clients name the model in the path: these bodies are looked into before their route reads them.
  const deployed = ['chat/completions', 'embeddings', 'images/generations'].map((rest) =>
    placeAt({ method: 'POST', path: `/openai/deployments/chat/${rest}` }, testKey),
  );
  const known = plain.flatMap((route) =>
    restsOf(route).map((rest) => placeAt(route, route.path.startsWith('/scim/') ? scimToken : testKey, rest)),
  );
  return [...known, ...deployed, ...admin];
}

function placeAt({ method, path, body }: Pick<Route, 'path' | 'body'> & { method: string }, key: string, rest = 'x') {
  const whole = path
    .replaceAll(/(?<!:):\w+|\{\w+\}/g, 'x')
    .replace('::', ':')
    .replace('*', rest);
  return { method, path: whole, key, isForm: body?.form !== undefined };
}

async function send(
  url: string,
  { method, path, key, isForm }: Place,
  { text }: HostileBody,
  bytes: Buffer,
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${key}`,
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/json',
  };
  if (!isForm) return fetch(url + path, { method, headers, body: new Uint8Array(bytes) });
  const form = new FormData();
  form.set('sdp', 'v=0');
  for (const name of ['session', 'chunking_strategy']) form.set(name, text.slice(0, 200_000));
  const { 'content-type': _, ...rest } = headers;
  return fetch(url + path, { method, headers: rest, body: form });
}

async function beginUpload(url: string): Promise<string> {
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const body = { filename: 'lines.jsonl', purpose: 'batch', bytes: 1_000, mime_type: 'application/jsonl' };
  const made = await fetch(`${url}/v1/uploads`, { method: 'POST', headers, body: JSON.stringify(body) });
  return ((await made.json()) as { id: string }).id;
}

test('S35 every hostile body at every route that takes one is 4xx, and holds the loop for 20 ms at most', {
  skip: noThreadTimes,
  // Of every route with every body; a busy machine takes five times as long as a quiet one.
  timeout: 900_000,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = {
    ...overUpstreams(upstream.url),
    dashboard: { scim: { token: scimToken, roles: [{ group: 'Owners', role: 'owner' }] } },
    // Its server is gone: a body is read before it is asked.
    mcp: { servers: { x: { url: `${await closedPlace()}/mcp` } } },
  };
  const places = await placesOf(t, config);
  assert.ok(places.length > 80, `${places.length} places`);
  const { url, process: gateway, lives } = await startGatewayProcess(t, config);
  // Parts belong to an upload that is there.
  const upload = await beginUpload(url);
  for (const place of places) place.path = place.path.replace('/v1/uploads/x/parts', `/v1/uploads/${upload}/parts`);
  const bytesOf = new Map(hostileBodies.map((body) => [body, Buffer.from(body.text)]));
  // A plain text of 2 MB to a model that nobody has: what it takes to receive it, and to hand it to the body's thread.
  const plain = Buffer.from(JSON.stringify({ model: 'none', messages: 'x'.repeat(plainBytes) }));
  const chat = placeAt({ method: 'POST', path: '/v1/chat/completions' }, testKey);
  let calmMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < roundsMax; round++) {
    const beforeMs = mainThreadMs(gateway.pid!);
    await (await send(url, chat, { what: 'a plain text', text: '' }, plain)).arrayBuffer();
    calmMs = Math.min(calmMs, mainThreadMs(gateway.pid!) - beforeMs);
  }
  const wrong: string[] = [];
  const lookedAt = new Set<Place>();
  /** CPU time of the main thread, ms: the best of some rounds, of which the first within the bound is the last. */
  const measured = async (place: Place, body: HostileBody) => {
    const boundMs = loopMsMax + (calmMs * body.text.length) / plainBytes;
    let ms = Number.POSITIVE_INFINITY;
    for (let round = 0; round < roundsMax; round++) {
      const beforeMs = mainThreadMs(gateway.pid!);
      const response = await send(url, place, body, bytesOf.get(body)!).catch(() => null);
      // A refused upload may be cut while it is sent: then there is no status to read.
      const { status } = response ?? { status: 413 };
      await response?.arrayBuffer();
      const tookMs = mainThreadMs(gateway.pid!) - beforeMs;
      // A machine without a processor to spare sheds requests: the next one is looked at.
      if (status === 503 && round + 1 < roundsMax) continue;
      ms = Math.min(ms, tookMs);
      // A refusal for another reason than the body says nothing of how bodies are read.
      if (![401, 403, 404].includes(status)) lookedAt.add(place);
      const isRefused = (status >= 400 && status < 500) || status === 501;
      if (!isRefused) wrong.push(`${status} ${place.method} ${place.path}: ${body.what}`);
      if (!isRefused || ms <= boundMs) return { ms, isLong: false };
    }
    return { ms, isLong: ms > boundMs * slowness() };
  };
  let slowest = { ms: 0, at: '' };
  const long: [Place, HostileBody][] = [];
  for (const place of places) {
    for (const body of hostileBodies) {
      const { ms, isLong } = await measured(place, body);
      if (isLong) long.push([place, body]);
      else if (ms > slowest.ms) slowest = { ms, at: `${place.method} ${place.path}: ${body.what}` };
    }
  }
  // What was long because of a collection or of compiling code is not so again.
  for (const [place, body] of long) {
    const { ms, isLong } = await measured(place, body);
    if (isLong) wrong.push(`${ms.toFixed(1)} ms ${place.method} ${place.path}: ${body.what}`);
  }
  t.diagnostic(
    `${places.length} places; 2 MB of plain text took ${calmMs.toFixed(1)} ms; the slowest took ${slowest.ms.toFixed(1)} ms: ${slowest.at}`,
  );
  assert.deepEqual(wrong, []);
  const unread = places.filter((place) => !lookedAt.has(place) && !leavesBodies.test(place.path));
  assert.deepEqual(
    unread.map(({ path }) => path),
    [],
    'places that looked at no body',
  );
  assert.ok(lives());
});
