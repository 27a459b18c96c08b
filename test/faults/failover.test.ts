import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { blackHole, closedPlace } from './dead-places.ts';
import { afterContent, beforeContent } from './fault-cases.ts';
import { aliasOf, overCases, secondAnswer, type UpstreamType } from './over-cases.ts';
import { explained, readStream } from './read-answer.ts';

const messages = [{ role: 'user', content: 'Count to twenty in words, please, and name each number twice.' }];
const unreachable = { 'F1 refused': 'unreachable', 'F2 a SYN black hole': 'unreachable' };

const noAnswer = { code: 502, type: 'upstream_error' };
/** What an upstream says itself in the stream stays. */
const ownError = {
  openai: { code: 'server_error', type: 'upstream_error' },
  anthropic: { code: 500, type: 'api_error' },
};

for (const type of ['openai', 'anthropic'] as const satisfies readonly UpstreamType[]) {
  test(`${type} upstreams`, async (t) => {
    const { gateway, broken, healthy } = await start(t, type);
    const answer = (alias: string, stream: boolean) =>
      gateway.fetch('/v1/chat/completions', { json: { model: alias, messages, stream } });

    for (const form of ['whole', 'stream'] as const) {
      const cases = [
        ...beforeContent.map((one) => ({ name: one.name, of: expectedOf(one, form, type) })),
        ...Object.entries(unreachable).map(([name, of]) => ({ name, of })),
      ];
      for (const { name, of } of cases) {
        if (of === null) continue;
        await t.test(`${form}: ${name}: the second target answers, once`, async () => {
          broken.clear();
          const response = await answer(aliasOf(`${form} ${name}`), form === 'stream');
          const body = await response.text();
          assert.equal(response.status, 200, body);
          assert.equal(response.headers.get('x-culvert-provider'), 'healthy');
          assert.equal(response.headers.get('x-culvert-attempts'), '2');
          if (form === 'stream') {
            const { text, roles, finishes, dones, error } = readStream(body);
            assert.deepEqual(
              { text, roles, finishes, dones, error },
              { text: secondAnswer, roles: 1, finishes: 1, dones: 1, error: null },
            );
          } else {
            const { choices } = JSON.parse(body) as { choices: { message: { content: string } }[] };
            assert.deepEqual(
              choices.map(({ message }) => message.content),
              [secondAnswer],
            );
          }
          // A reset of a kept-alive socket may be its age: it is tried once more on a fresh one (F9).
          const once = name.startsWith('F6 reset before') ? [1, 2] : name in unreachable ? [0] : [1];
          assert.ok(once.includes(dispatchedTo(broken)), `${dispatchedTo(broken)} requests`);
          const { route, status } = await explained(gateway, response);
          assert.equal(status, 200);
          assert.deepEqual(
            route.attempts.map((attempt) => [attempt.provider, attempt.class]),
            [
              [aliasOf(`${form} ${name}`), of],
              ['healthy', 'ok'],
            ],
          );
          const [failed, then] = route.attempts;
          assert.ok(failed?.message, 'the record says why');
          // Each is rounded to a millisecond.
          assert.ok(then!.startMs! >= failed.startMs! + failed.ms - 2, 'the second began when the first had ended');
        });
      }
    }

    for (const one of afterContent) {
      await t.test(
        `stream: ${one.name} after the first content is an error event, and nobody else is asked`,
        async () => {
          healthy.clear();
          const response = await answer(aliasOf(`after ${one.name}`), true);
          assert.equal(response.status, 200);
          const { text, error, dones, finishes } = readStream(await response.text());
          assert.ok(text.length > 0 && text !== secondAnswer);
          assert.equal(dones, 0, 'never a clean end');
          assert.equal(finishes, 0);
          const { code, type: said } = one.name === 'F12 an error event' ? ownError[type] : noAnswer;
          assert.equal(error?.code, code);
          assert.equal(error?.type, said);
          assert.equal(dispatchedTo(healthy), 0);
          const record = await explained(gateway, response);
          assert.deepEqual(
            record.route.attempts.map((attempt) => attempt.class),
            [one.of],
          );
          assert.equal(record.class, 'upstreams-failed');
          // Delivered text is charged: tokens counted by us, at the target's price.
          assert.ok(record.usage.output_tokens > 0);
          assert.ok(record.usage.input_tokens > 0);
          assert.ok((record.cost_usd ?? 0) > 0);
        },
      );
    }
  });
}

async function start(t: TestContext, type: UpstreamType) {
  const [broken, healthy] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([broken.close(), healthy.close()]));
  const cases = [
    ...(['whole', 'stream'] as const).flatMap((form) =>
      beforeContent.map(({ name, spec }) => ({ name: `${form} ${name}`, spec })),
    ),
    ...afterContent.map(({ name, spec }) => ({ name: `after ${name}`, spec: `${spec};tokens=40` })),
  ];
  const [closed, hole] = [await closedPlace(), await blackHole(t)];
  const extra = Object.fromEntries(
    ['whole', 'stream'].flatMap((form) => [
      [`${form} F1 refused`, closed],
      [`${form} F2 a SYN black hole`, hole],
    ]),
  );
  const gateway = await startGateway(t, overCases(cases, type, { broken: broken.url, healthy: healthy.url, extra }));
  return { gateway, broken, healthy };
}

function expectedOf(one: (typeof beforeContent)[number], form: 'whole' | 'stream', type: UpstreamType): string | null {
  if (one[form] === null || type === 'openai' || one.anthropic === undefined) return one[form];
  return one.anthropic;
}

function dispatchedTo(upstream: Upstream): number {
  return upstream.requests().filter(({ method }) => method === 'POST').length;
}

test('F12 a forward proxy that wants another login is no fault of the caller: the next provider answers', async (t) => {
  const first = await startUpstream();
  const second = await startUpstream();
  t.after(() => Promise.all([first.close(), second.close()]));
  const gateway = await startGateway(t, overUpstreams(first.url, second.url));
  const ask = () => gateway.fetch('/v1/chat/completions', { json: { model: 'chat', messages } });
  first.script('*', ['always status=407']);
  const answered = await ask();
  assert.equal(answered.status, 200, await answered.text());
  second.script('*', ['always status=407']);
  assert.equal((await ask()).status, 502);
});
