import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { callerIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { serverEvents } from '../contract/dialect-matrix/server-events.ts';
import { upstreamFormats } from '../contract/dialect-matrix/upstreams.ts';
import { listening } from '../listening.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { type ContentCase, contentCases } from './content-answers.ts';
import { explained } from './read-answer.ts';

interface Lane {
  state: string;
  why: string | null;
  failed: number;
}

for (const upstream of ['openai-chat', 'anthropic-messages', 'gemini', 'openai-responses'] as const) {
  test(`F69 over ${upstream}: what a prompt or a model causes is an answer or the caller's fault, asked once, and no ill health`, async (t) => {
    const cases = contentCases.filter((one) => one.upstream === upstream);
    const { url, asked } = await answering(t, cases);
    const gateway = await startGateway(t, over(cases, url));
    for (const [index, one] of cases.entries()) {
      for (const caller of callerIds) {
        for (const delivery of ['whole', 'stream'] as const) {
          const own = caller === upstream;
          // Callers of other formats are asked by a stream, whatever they want.
          if (own && delivery === 'whole' && one.whole === null) continue;
          await t.test(`${one.name}: ${caller}, ${delivery}`, async () => {
            asked.splice(0);
            await held(one, gateway, { index, caller, delivery });
            assert.deepEqual(asked, [`/${index}`], 'asked once, and nobody else');
          });
        }
      }
    }
    for (const { state, why, failed } of await lanes(gateway)) {
      assert.deepEqual({ state, why, failed }, { state: 'ready', why: null, failed: 0 });
    }
  });
}

async function held(
  one: ContentCase,
  gateway: TestGateway,
  { index, caller, delivery }: { index: number; caller: (typeof callerIds)[number]; delivery: 'whole' | 'stream' },
): Promise<void> {
  const format = callerFormats[caller];
  const model = `case-${index}`;
  const json = format.body(model, { say: 'Hello', maxTokens: 64 }, delivery);
  const response = await gateway.fetch(format.path(model, delivery), { json });
  const text = await response.text();
  const streamed = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  if (one.given === 'answer') {
    assert.equal(response.status, 200, text);
    assert.equal(streamed, delivery === 'stream');
    if (caller === one.upstream && one.ownHolds !== undefined) assert.ok(text.includes(one.ownHolds), text);
    else if (!streamed) assert.ok(format.whole(JSON.parse(text) as JsonObject));
    else {
      const { clean, error } = format.stream(serverEvents(text));
      assert.equal(error, null, text);
      // Bytes of its own format are the caller's to judge: Google blocks a prompt without any word of a finish.
      if (caller !== one.upstream) assert.equal(clean, true, text);
    }
  } else if (one.given === 'text, then an error' && delivery === 'stream') {
    assert.equal(response.status, 200, text);
    const { clean, error } = format.stream(serverEvents(text));
    assert.equal(clean, false);
    assert.ok(error?.message.includes(one.says!), text);
    assert.equal((await explained(gateway, response)).class, 'upstream-refused');
  } else {
    assert.equal(response.status, one.status, text);
    assert.ok(format.errorOf(JSON.parse(text) as JsonObject).message.includes(one.says!), text);
  }
}

/** A provider a case, and beside it a spare one that must never be asked. */
function over(cases: readonly ContentCase[], url: string): Record<string, unknown> {
  const providers: Record<string, unknown> = {};
  const models: Record<string, unknown> = {};
  for (const [index, { upstream, type }] of cases.entries()) {
    const { provider, model } = upstreamFormats[upstream];
    const of = (place: string) => ({ ...provider(`${url}/${place}`), ...(type !== undefined && { type }) });
    providers[`case-${index}`] = of(`${index}`);
    providers[`spare-${index}`] = of('spare');
    models[`case-${index}`] = {
      targets: [
        { provider: `case-${index}`, model, priority: 1 },
        { provider: `spare-${index}`, model, priority: 2 },
      ],
    };
  }
  return { providers, models };
}

async function answering(t: TestContext, cases: readonly ContentCase[]): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const place = request.url!.split('/')[1]!;
      if (request.method !== 'POST') return response.writeHead(404).end();
      asked.push(`/${place}`);
      const one = cases[Number(place)];
      if (one === undefined) return response.writeHead(500).end();
      const wantsStream = request.url!.includes('streamGenerateContent') || /"stream":\s*true/.test(body);
      if (wantsStream && one.stream !== null) {
        return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(one.stream);
      }
      response
        .writeHead(one.whole!.status, { 'content-type': 'application/json' })
        .end(JSON.stringify(one.whole!.body));
    });
  });
  const url = await listening(t, server);
  return { url, asked };
}

async function lanes(gateway: TestGateway): Promise<Lane[]> {
  const response = await gateway.fetch('/admin/v1/providers?limit=100', {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { data } = (await response.json()) as { data: { credentials: { lanes: Lane[] }[] }[] };
  return data.flatMap(({ credentials }) => credentials.flatMap((credential) => credential.lanes));
}
