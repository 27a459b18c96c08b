import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { createHookDelivery } from './crawl-hooks.ts';
import { newWebhookSecret } from './crawl-message.ts';
import type { Hook } from './crawl-store.ts';

const secret = newWebhookSecret();
const webhook = {
  url: 'https://hook.test/',
  headers: { 'webhook-id': 'forged', 'x-a': '1' },
  metadata: {},
  events: [],
  secret,
};

function queueOf(hooks: Hook[]) {
  const due = new Map(hooks.map((hook) => [hook.id, { hook, nextMs: 0 }]));
  return {
    due,
    async dueHooks(nowMs: number, untilMs: number, limit: number, without: readonly string[]) {
      const found = [...due.values()]
        .filter(({ hook, nextMs }) => nextMs <= nowMs && !without.includes(hook.tenant))
        .slice(0, limit);
      for (const one of found) one.nextMs = untilMs;
      return found.map(({ hook }) => hook);
    },
    async hookDone(id: string) {
      due.delete(id);
    },
    async hookLater(id: string, tries: number, nextMs: number) {
      due.set(id, { hook: { ...due.get(id)!.hook, tries }, nextMs });
    },
  };
}

const hook = (id: string, tenant = 'a'): Hook => ({
  id,
  tenant,
  crawl: 'c',
  body: `{"${id}":1}`,
  createdMs: 1,
  webhook,
  tries: 0,
});

test('what a webhook receives is gone; each is signed, and no header of the caller forges ours', async () => {
  const store = queueOf(Array.from({ length: 20 }, (_, at) => hook(`m${at}`)));
  const posted: { headers: Readonly<Record<string, string>>; body: string }[] = [];
  const clock = fakeClock();
  const post = async (_url: string, headers: Readonly<Record<string, string>>, body: string) => {
    posted.push({ headers, body });
    return 204;
  };
  const delivery = createHookDelivery({ store, clock, post, onTrouble: assert.fail });
  await delivery.look();
  assert.deepEqual([store.due.size, posted.length], [0, 20]);
  for (const { headers, body } of posted) {
    const id = Object.keys(JSON.parse(body))[0]!;
    const signed = `${id}.${Math.floor(clock.wallMs() / 1_000)}.${body}`;
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    assert.deepEqual(
      [headers['webhook-id'], headers['x-a'], headers['webhook-signature']],
      [id, '1', `v1,${createHmac('sha256', key).update(signed).digest('base64')}`],
    );
  }
});

test('a message whose receipt could not be noted comes again with the same id', async () => {
  const store = queueOf([hook('m')]);
  const clock = fakeClock();
  let isAway = true;
  const away = {
    ...store,
    async hookDone(id: string) {
      if (isAway) throw new Error('the database is away');
      await store.hookDone(id);
    },
  };
  const ids: unknown[] = [];
  const post = async (_url: string, headers: Readonly<Record<string, string>>) => {
    ids.push(headers['webhook-id']);
    return 204;
  };
  const delivery = createHookDelivery({ store: away, clock, post, onTrouble: () => undefined });
  await delivery.look();
  isAway = false;
  clock.advance(60_000);
  await delivery.look();
  assert.deepEqual([ids, store.due.size], [['m', 'm'], 0]);
});

test('a webhook that does not answer, or with an error or redirect, is tried five times, then given up', async () => {
  const store = queueOf([hook('m')]);
  const clock = fakeClock();
  let tries = 0;
  const post = async () => {
    tries += 1;
    if (tries % 2 === 0) throw new Error('no answer');
    return tries === 3 ? 302 : 500;
  };
  const delivery = createHookDelivery({ store, clock, post, onTrouble: assert.fail });
  for (let times = 0; times < 10 && store.due.size > 0; times++) {
    await delivery.look();
    await delivery.look();
    clock.advance(Math.max(0, (store.due.get('m')?.nextMs ?? 0) - clock.wallMs()));
  }
  assert.deepEqual([tries, store.due.size], [5, 0]);
});

test("S27 webhooks of one tenant that do not answer do not hold up another's", async () => {
  const dead = Array.from({ length: 40 }, (_, at) => hook(`dead${at}`, 'dead'));
  const store = queueOf([...dead, hook('well', 'b')]);
  const clock = fakeClock();
  const { promise: notified, resolve: tell } = Promise.withResolvers<void>();
  const { promise: given, reject: giveUp } = Promise.withResolvers<number>();
  const post = async (_url: string, _headers: object, body: string) => {
    if (body.includes('dead')) return given;
    tell();
    return 204;
  };
  const delivery = createHookDelivery({ store, clock, post, onTrouble: assert.fail });
  const looked = delivery.look();
  await notified;
  store.due.set('late', { hook: hook('late', 'c'), nextMs: 0 });
  void delivery.look();
  while (store.due.has('late')) await new Promise(setImmediate);
  giveUp(new Error('no answer'));
  await looked;
  assert.equal(store.due.size, 40, 'the dead ones are tried again later');
});

test('after the stop nothing is sent, however often a crawl ends meanwhile', async () => {
  const store = queueOf([hook('m')]);
  const clock = fakeClock();
  const delivery = createHookDelivery({ store, clock, post: assert.fail, onTrouble: assert.fail });
  await delivery.stop();
  await delivery.look();
  assert.equal(store.due.get('m')?.nextMs, 0, 'it waits for the next start');
});
