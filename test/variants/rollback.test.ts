import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import {
  clearlyWorse,
  isSlowerByCaller,
  isWorseWithoutAny,
} from '../../src/books/metering/experiments/clearly-worse.ts';
import type { VariantTimes } from '../../src/books/metering/experiments/experiment-book.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { adminKey, otherKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { until } from '../until.ts';

const times = (variant: string, rows: readonly (readonly [ms: number | null, requests: number, errors?: number])[]) =>
  rows.map(([firstTokenMs, requests, errors = 0]): VariantTimes => {
    return { variant, firstTokenMs, requests, errors, faults: 0, costUsd: 0, by: null };
  });

const whyClearlyWorse = (...of: Parameters<typeof clearlyWorse>) => clearlyWorse(...of)?.reason ?? null;

test('more errors are clear from 50 requests on, four deviations and two points', () => {
  const first = times('a', [[100, 1_000, 10]]);
  assert.match(
    whyClearlyWorse(first, times('b', [[100, 60, 12]])) ?? '',
    /20.0% of 60 requests failed, against 1.0% of/,
  );
  assert.equal(whyClearlyWorse(first, times('b', [[100, 49, 49]])), null);
  assert.equal(whyClearlyWorse(first, times('b', [[100, 60, 3]])), null);
  assert.equal(whyClearlyWorse(times('a', [[100, 49, 0]]), times('b', [[100, 900, 900]])), null);
  // Certain, and too little to matter.
  assert.equal(whyClearlyWorse(times('a', [[100, 1e6, 0]]), times('b', [[100, 1e6, 9_000]])), null);
  // Both fail: the provider is down, not the variant.
  assert.equal(whyClearlyWorse(times('a', [[null, 500, 400]]), times('b', [[null, 500, 410]])), null);
});

test('slower is by ranks: a few slow answers do not count, a shift of all does', () => {
  const spread = (from: number, n: number) => Array.from({ length: n }, (_, at) => [from + at * 7, 1] as const);
  const first = times('a', spread(300, 100));
  assert.match(whyClearlyWorse(first, times('b', spread(900, 80))) ?? '', /took more than \d+ ms, against/);
  assert.equal(whyClearlyWorse(first, times('b', spread(310, 80))), null);
  assert.equal(whyClearlyWorse(first, times('b', [...spread(300, 75), ...spread(60_000, 5)])), null);
  assert.equal(whyClearlyWorse(first, times('b', spread(2_000, 49))), null);
  assert.equal(whyClearlyWorse(times('a', [[100, 900]]), times('b', [[150, 900]])), null);
});

test('chance alone takes no variant out: 2,000 experiments of equal variants', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  const drawn = (variant: string, n: number) =>
    times(
      variant,
      Array.from({ length: n }, () => [Math.round(-400 * Math.log(1 - random())), 1, random() < 0.05 ? 1 : 0] as const),
    );
  let wrong = 0;
  for (let at = 0; at < 2_000; at += 1) {
    if (whyClearlyWorse(drawn('a', 300), drawn('b', 60)) !== null) wrong += 1;
  }
  assert.ok(wrong <= 2, `${wrong}`);
});

test('no single account decides: the difference is there without any one of them', () => {
  const variants = { first: 'a', other: 'b' };
  const by = (name: string | null, rows: VariantTimes[]) => rows.map((row) => ({ ...row, by: name }));
  const first = times('a', [[100, 1_000, 10]]);
  const decided = (rows: VariantTimes[]) => {
    const worse = clearlyWorse(first, rows);
    return worse !== null && isWorseWithoutAny([...first, ...rows], worse, variants);
  };
  // Everything that one account asks is refused, and of the others nothing.
  assert.equal(decided([...by('odd', times('b', [[100, 100, 100]])), ...by(null, times('b', [[100, 200, 2]]))]), false);
  assert.equal(decided(by('odd', times('b', [[100, 100, 100]]))), false);
  assert.equal(decided([...by('one', times('b', [[100, 60, 30]])), ...by('two', times('b', [[100, 60, 30]]))]), true);
  const failed = times('b', [[null, 60, 60]]).map((row) => ({ ...row, faults: 60 }));
  assert.equal(clearlyWorse(first, failed)?.in, 'faults');
});

test('slower is what is slower for its callers, and not what few callers ask for', () => {
  let seed = 11;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  /** Callers whose requests take different times, up to eight times as long. */
  const callers = (variant: string, n: number, times = 1) =>
    Array.from({ length: n }, (_, caller) => {
      const usual = 200 * 8 ** random() * times;
      return Array.from({ length: 20 }, (): VariantTimes => {
        const firstTokenMs = Math.round(usual * (0.8 + 0.4 * random()));
        return { variant, firstTokenMs, requests: 1, errors: 0, faults: 0, costUsd: 0, by: `${variant}${caller}` };
      });
    }).flat();
  const variants = { first: 'a', other: 'b' };
  const looks = (of: number, times: number) => {
    const found = { byRequests: 0, byCallers: 0 };
    for (let at = 0; at < 300; at += 1) {
      const [a, b] = [callers('a', 30), callers('b', of, times)];
      if (clearlyWorse(a, b)?.in !== 'times') continue;
      found.byRequests += 1;
      if (isSlowerByCaller([...a, ...b], variants)) found.byCallers += 1;
    }
    return found;
  };
  for (const size of [3, 5, 10]) {
    const { byRequests, byCallers } = looks(size, 1);
    assert.ok(byRequests > 20, `of ${size} callers, ${byRequests} of 300 looks find equal variants different`);
    assert.ok(byCallers <= 3, `${byCallers} of 300 at ${size} callers`);
  }
  assert.ok(looks(20, 4).byCallers > 290, 'four times as slow is found with 20 callers');
});

/** Answers all models but `bad`, which fails, and refuses all that has the word `wrong`. */
async function startUpstream(t: { after(end: () => void): void }) {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += String(chunk);
    });
    request.on('end', () => {
      const { model } = JSON.parse(text || '{}') as { model?: string };
      const isRefused = model === 'bad' || text.includes('wrong');
      response.writeHead(isRefused ? 422 : 200, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: 'ok' };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const answer = { id: 'c', object: 'chat.completion', created: 1, model, choices, usage };
      response.end(JSON.stringify(isRefused ? { error: { message: 'No.' } } : answer));
    });
  });
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  t.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

async function variantsOf(gateway: TestGateway, users: number): Promise<(string | null)[]> {
  const all: (string | null)[] = [];
  for (let user = 0; user < users; user += 1) {
    const json = { model: 'smart', user: `u${user}`, messages: [{ role: 'user', content: 'x' }] };
    const response = await gateway.fetch('/v1/chat/completions', { json });
    await response.text();
    all.push(response.headers.get('x-culvert-variant'));
  }
  return all;
}

async function admin(gateway: TestGateway, path: string, method = 'GET') {
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
  const response = await fetch(`${gateway.url}/admin/v1${path}`, { method, headers });
  return { status: response.status, body: (await response.json()) as Record<string, never> };
}

test('a variant that fails is taken out, stays out over a restart, and an operator takes it back', async (t) => {
  const url = await startUpstream(t);
  const folder = mkdtempSync(join(tmpdir(), 'culvert-rollback-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const config = (target: string) => ({
    storage: { data_dir: folder },
    providers: { up: { type: 'openai', base_url: url, api_key: 'k' } },
    telemetry: { prometheus: true },
    models: {
      smart: {
        targets: ['up/good'],
        sticky: 'user',
        rollback: 'auto',
        variants: { a: { weight: 1 }, b: { weight: 1, targets: [target] }, c: { weight: 1 } },
      },
    },
  });
  const logged: string[] = [];
  const lines = new PassThrough().on('data', (chunk) => logged.push(String(chunk)));
  const running = async () => startGateway(t, config('up/bad'), { log: pino({ level: 'warn' }, lines) });
  const first = await running();
  const before = await variantsOf(first, 240);
  assert.ok(before.filter((variant) => variant === 'b').length > 50);
  await first.close(0);

  const second = await running();
  const isOut = async (gateway: TestGateway) => {
    const { body } = await admin(gateway, '/models/smart/results');
    const { variants } = body as unknown as { variants: { variant: string; out: { reason: string } | null }[] };
    return variants.find(({ variant }) => variant === 'b')?.out ?? null;
  };
  await until('it is out', async () => (await isOut(second)) !== null);
  assert.match((await isOut(second))?.reason ?? '', /100.0% of \d+ requests failed, against 0.0%/);
  assert.match(logged.join(''), /a variant was taken out/);
  await second.close(0);

  const third = await running();
  const after = await variantsOf(third, 240);
  assert.ok(!after.includes('b'));
  // Those of the others stay where they were; those of b are shared.
  for (const [user, variant] of before.entries()) if (variant !== 'b') assert.equal(after[user], variant);
  const moved = after.filter((_, user) => before[user] === 'b');
  assert.ok(moved.includes('a') && moved.includes('c'));
  const { body: doctor } = await admin(third, '/doctor');
  assert.match(JSON.stringify(doctor), /The variant b of the model smart is out since/);
  assert.match(
    await (await third.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } })).text(),
    /culvert_variant_out\{variant="smart\/b"\} 1/,
  );

  assert.equal((await admin(third, '/models/smart/variants/a/restore', 'POST')).status, 404);
  assert.equal((await admin(third, '/models/smart/variants/b/restore', 'POST')).status, 200);
  assert.equal(await isOut(third), null);
  const { body: trail } = await admin(third, '/audit');
  assert.match(JSON.stringify(trail), /variant\.restore/);
  await third.close(0);
  const fourth = await startGateway(t, config('up/better'), { log: pino({ level: 'silent' }) });
  assert.ok((await variantsOf(fourth, 30)).includes('b'));
});

test('the requests of one account take no variant from the others', async (t) => {
  const url = await startUpstream(t);
  const folder = mkdtempSync(join(tmpdir(), 'culvert-rollback-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const config = {
    storage: { data_dir: folder },
    providers: { up: { type: 'openai', base_url: url, api_key: 'k' } },
    models: {
      smart: {
        targets: ['up/good'],
        sticky: 'user',
        rollback: 'auto',
        variants: { a: { weight: 1 }, b: { weight: 1 } },
      },
    },
  };
  const first = await startGateway(t, config);
  const all = await variantsOf(first, 240);
  assert.ok(all.filter((variant) => variant === 'b').length > 50);
  // A user of another account, who has the variant b.
  let user = 0;
  for (let refused = 0; refused < 80; ) {
    const json = { model: 'smart', user: `o${user}`, messages: [{ role: 'user', content: 'wrong' }] };
    const headers = { authorization: `Bearer ${otherKey}` };
    const response = await first.fetch('/v1/chat/completions', { json, headers });
    await response.text();
    if (response.headers.get('x-culvert-variant') === 'b') refused += 1;
    else user += 1;
  }
  await first.close(0);
  const second = await startGateway(t, config);
  const results = async () => {
    const { body } = await admin(second, '/models/smart/results');
    return (body as unknown as { variants: { variant: string; error_rate: number; out: object | null }[] }).variants;
  };
  const [a, b] = await results();
  assert.ok((b?.error_rate ?? 0) > 0.2, JSON.stringify([a, b]));
  // The look at the start ends meanwhile.
  for (let look = 0; look < 20; look += 1) {
    assert.deepEqual(
      (await results()).map(({ out }) => out),
      [null, null],
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.ok((await variantsOf(second, 30)).includes('b'));
});

test('rollback needs two variants', () => {
  const text = 'providers: { up: { type: openai, api_key: k } }\nmodels: { m: { targets: [up/m], rollback: auto } }';
  const checked = checkConfigText(text, 'culvert.yaml', {});
  assert.ok(!checked.ok && checked.errors.some(({ message }) => /needs at least two variants/.test(message)));
});
