import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

/* Issue 30 §4.12: requests of one conversation or run are a session, also where no session header says so. */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway({ after } as TestContext, overUpstreams(upstream.url));
const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${trace}-00f067aa0ba902b7-01`;

interface Asked {
  request: string;
  /** Of the answer. */
  id: string;
}

async function ask(path: string, more: object, headers: Record<string, string> = {}): Promise<Asked> {
  const said = path === '/v1/responses' ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await gateway.fetch(path, { json: { model: 'chat', ...said, ...more }, headers });
  const { id } = (await answer.json()) as { id: string };
  assert.equal(answer.status, 200);
  return { request: answer.headers.get('x-culvert-request-id') ?? '', id };
}

async function admin<Reply>(path: string): Promise<Reply> {
  const headers = { authorization: `Bearer ${adminKey}` };
  return (await (await gateway.fetch(`/admin/v1${path}`, { headers })).json()) as Reply;
}

/** Its session, once it is in the books; undefined: it is not yet. */
async function sessionOf({ request }: Asked): Promise<string | null> {
  let session: string | null | undefined;
  await until('it is in the ledger', async () => {
    ({ session } = await admin<{ session?: string | null }>(`/requests/${request}`));
    return session !== undefined;
  });
  return session ?? null;
}

test('prompt_cache_key is the session, a header comes before it, and a trace after it', async () => {
  const key = { prompt_cache_key: 'support-chat-7' };
  assert.equal(await sessionOf(await ask('/v1/chat/completions', key)), 'support-chat-7');
  assert.equal(await sessionOf(await ask('/v1/responses', key)), 'support-chat-7');
  assert.equal(await sessionOf(await ask('/v1/chat/completions', key, { traceparent })), 'support-chat-7');
  const header = { 'x-culvert-session': 'mine', traceparent };
  assert.equal(await sessionOf(await ask('/v1/chat/completions', key, header)), 'mine');
  assert.equal(await sessionOf(await ask('/v1/chat/completions', {}, { traceparent })), `trace:${trace}`);
  for (const wrong of ['nonsense', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`]) {
    assert.equal(await sessionOf(await ask('/v1/chat/completions', {}, { traceparent: wrong })), null);
  }
  assert.equal(await sessionOf(await ask('/v1/chat/completions', { prompt_cache_key: '' })), null);
});

test('responses that continue each other are the session of the one with which they began', async () => {
  const first = await ask('/v1/responses', {});
  const second = await ask('/v1/responses', { previous_response_id: first.id });
  const third = await ask('/v1/responses', { previous_response_id: second.id });
  assert.equal(await sessionOf(second), first.id);
  assert.equal(await sessionOf(third), first.id);
  const { data } = await admin<{ data: { id: string }[] }>(`/requests?session=${first.id}`);
  assert.deepEqual(
    data.map(({ id }) => id),
    [third.request, second.request],
  );
});

test('a trace with one request is no session in the list', async () => {
  const lonely = '00-11111111111111111111111111111111-00f067aa0ba902b7-01';
  const busy = '00-22222222222222222222222222222222-00f067aa0ba902b7-01';
  await sessionOf(await ask('/v1/chat/completions', {}, { traceparent: lonely }));
  for (let i = 0; i < 2; i++) await sessionOf(await ask('/v1/chat/completions', {}, { traceparent: busy }));
  const { data } = await admin<{ data: { session: string; requests: number }[] }>('/agent-sessions');
  const named = data.filter(({ session }) => /1{32}|2{32}/.test(session));
  assert.deepEqual(
    named.map(({ session, requests }) => [session, requests]),
    [[`trace:${'2'.repeat(32)}`, 2]],
  );
});
