import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { webhookHeaders } from '../../src/kernel/web/webhook-headers.ts';
import { listening } from '../listening.ts';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, type StartedRedis, startRedis } from '../start-redis.ts';
import { s3Keys, s3Missing, startS3 } from '../start-s3.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, balanced } from './books-balance.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { storageOver } from './replicas.ts';

/** `CULVERT_KILLS=50` is a long run. */
const kills = Number(process.env.CULVERT_KILLS ?? 4);
const secret = 'a secret of thirty-two bytes or more';

interface Post {
  headers: IncomingHttpHeaders;
  body: string;
  status: number;
}

/** Gets batches, and does not always say so: every fifth is refused after it was read, and each takes a while. */
async function startReceiver(
  t: TestContext,
  answers: (post: number) => number = (post) => (post % 5 === 4 ? 503 : 204),
) {
  const posts: Post[] = [];
  let atOnce = 0;
  let most = 0;
  const server = createServer(async (request, response) => {
    most = Math.max(most, ++atOnce);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const status = answers(posts.length);
    posts.push({ headers: request.headers, body: String(Buffer.concat(chunks)), status });
    await after(15);
    atOnce -= 1;
    response.writeHead(status).end();
  });
  const url = await listening(t, server);
  return { url: `${url}/in`, posts, most: () => most };
}

/** Lines by the id of their request, of texts in which every line is whole. */
function linesOf(texts: readonly string[]): Map<string, string> {
  const lines = texts.flatMap((text) => {
    assert.ok(text.endsWith('\n'));
    return text.slice(0, -1).split('\n');
  });
  return new Map(lines.map((line) => [(JSON.parse(line) as { id: string }).id, line]));
}

function textsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

async function exported(url: string): Promise<Map<string, string>> {
  const answer = await fetch(`${url}/admin/v1/requests.jsonl`, { headers: { authorization: `Bearer ${adminKey}` } });
  return linesOf([await answer.text()]);
}

/** Callers that ask one gateway after the other until it is over; ids of their answers. */
function load(urls: () => readonly string[]) {
  const answered: string[] = [];
  let going = true;
  const callers = Array.from({ length: 6 }, async (_, caller) => {
    for (let turn = caller; going; turn++) {
      const all = urls();
      const asked = await ask(all[turn % all.length]!, { stream: turn % 2 === 0 }).catch(() => null);
      if (asked?.status === 200) answered.push(asked.id!);
      else await after(10);
    }
  });
  return {
    answered,
    async end() {
      going = false;
      await Promise.all(callers);
    },
  };
}

/** Units of the account's leases that nobody has ended 5 s after they began, though they live for 0.4 s; by their ids. */
function lostLeases(redis: StartedRedis): Map<string, number> {
  const lines = redis.cli('--scan', '--pattern', '*{dev}:open').split('\n').filter(Boolean);
  const fields = lines.flatMap((key) => redis.cli('hgetall', key).split(/\n(?=lease:|req_|[eg]\n)/));
  return new Map(
    fields
      .map((field) => /^(lease:.*)\n(\d+)\|(\d+)\|/.exec(field))
      .filter((lease) => lease !== null && Date.now() - Number(lease[2]) > 5_000)
      .map((lease) => [lease![1]!, Number(lease![3]) / 1_000]),
  );
}

const quick = { every: '100ms', batch_records: 15 };

// All at once: each mostly waits.
describe('sinks', { concurrency: true }, () => {
  test(`kill -9 while sinks are sent to, ${kills} times: webhook, folder and bucket have every record, as an export has it`, {
    skip: s3Missing,
  }, async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const storage = await startS3(t, 'records');
    const receiver = await startReceiver(t);
    const folder = temporaryFolder(t);
    const config = {
      ...overUpstreams(upstream.url),
      storage: { data_dir: join(temporaryFolder(t), 'data'), s3: { endpoint: storage.url, ...s3Keys } },
      telemetry: {
        sinks: [
          { name: 'hook', webhook: receiver.url, secret, ...quick },
          { name: 'disk', folder, ...quick },
          { name: 'lake', s3: 's3://records/culvert', ...quick },
        ],
      },
    };
    let gateway = await startGatewayProcess(t, config);
    const calls = load(() => [gateway.url]);
    for (let kill = 0; kill < kills; kill++) {
      await after(900 + ((kill * 37) % 150));
      const ended = once(gateway.process, 'exit');
      gateway.process.kill('SIGKILL');
      await ended;
      gateway = await startGatewayProcess(t, config);
    }
    await after(300);
    await calls.end();
    const { events } = await balanced(gateway.url);
    const wanted = events.map(({ id }) => id).toSorted();
    assert.ok(calls.answered.every((id) => wanted.includes(id)));
    const hook = () => linesOf(receiver.posts.map(({ body }) => body));
    const disk = () => linesOf(textsIn(folder));
    const lake = () => linesOf(storage.keys('records').map((key) => storage.text('records', key)));
    const want = await exported(gateway.url);
    for (const sink of [hook, disk, lake]) {
      await until(`${sink.name} has all`, () => sink().size >= wanted.length, 20_000);
      assert.deepEqual([...sink().keys()].toSorted(), wanted);
      for (const [id, line] of sink()) assert.equal(line, want.get(id));
    }
    assert.ok(storage.keys('records').every((key) => /^culvert\/\d{4}-\d\d-\d\d\/req_[\w-]+\.jsonl$/.test(key)));
    assert.equal(receiver.most(), 1);
    for (const { headers, body } of receiver.posts) {
      const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
      assert.equal(headers['content-type'], 'application/x-ndjson');
      const expected = webhookHeaders({ id: String(id), body }, secret, Number(at) * 1_000);
      assert.equal(signature, expected['webhook-signature']);
    }
    // A record came again only when the receiver or the gateway failed.
    const said = receiver.posts
      .filter(({ status }) => status === 204)
      .flatMap(({ body }) => [...linesOf([body]).keys()]);
    t.diagnostic(
      `${wanted.length} records, ${said.length - new Set(said).size} received twice, ${receiver.posts.length} posts`,
    );
  });

  const skip = postgresMissing || redisMissing;

  test(`two replicas over PostgreSQL, killed in turn ${kills} times: one sends at a time, and none is lost`, {
    skip,
  }, async (t) => {
    const [postgres, redis] = [await startPostgres(t), await startRedis(t)];
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const receiver = await startReceiver(t);
    const storage = storageOver(postgres.newDatabase(), redis);
    const start = () =>
      startGatewayProcess(t, {
        ...overUpstreams(upstream.url),
        storage: { ...storage, data_dir: join(temporaryFolder(t), 'data') },
        telemetry: { sinks: [{ name: 'hook', webhook: receiver.url, secret, ...quick }] },
      });
    const replicas: GatewayProcess[] = [await start(), await start()];
    const calls = load(() => replicas.map(({ url }) => url));
    const lost = new Map<string, number>();
    for (let kill = 0; kill < kills; kill++) {
      await after(400);
      const killed = replicas[kill % 2]!;
      const ended = once(killed.process, 'exit');
      killed.process.kill('SIGKILL');
      await ended;
      replicas[kill % 2] = await start();
      for (const [id, units] of lostLeases(redis)) lost.set(id, units);
    }
    await after(400);
    await calls.end();
    await after(5_500);
    for (const [id, units] of lostLeases(redis)) lost.set(id, units);
    const lostUnits = [...lost.values()].reduce((sum, units) => sum + units, 0);
    // Places of the dead end within 30 s, and what they had open is charged within 40 s.
    const { events } = await balanced(replicas[0]!.url, 60_000, lostUnits);
    const wanted = events.map(({ id }) => id).toSorted();
    const received = () => linesOf(receiver.posts.map(({ body }) => body));
    await until('the webhook has all', () => received().size >= wanted.length);
    assert.deepEqual([...received().keys()].toSorted(), wanted);
    assert.equal(receiver.most(), 1);
    t.diagnostic(`${wanted.length} records, ${receiver.posts.length} posts, ${lostUnits} units of leases lost`);
  });

  test('a sink gets bodies where it wants them and the key is named; others get none', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const [withBodies, without] = [temporaryFolder(t), temporaryFolder(t)];
    const gateway = await startGateway(t, {
      ...overUpstreams(upstream.url),
      telemetry: {
        log: { level: 'silent', bodies: ['dev/test'] },
        sinks: [
          { name: 'one', folder: withBodies, bodies: true, every: '100ms' },
          { name: 'other', folder: without, every: '100ms' },
        ],
      },
    });
    const asked = await ask(gateway.url, { messages: [{ role: 'user', content: 'the word is aubergine' }] });
    const silent = await ask(gateway.url, {}, 'sk-cv-test-key-0002');
    await until('both have both', () => [withBodies, without].every((dir) => linesOf(textsIn(dir)).size === 2));
    const [full, bare] = [linesOf(textsIn(withBodies)), linesOf(textsIn(without))];
    const { bodies, ...record } = JSON.parse(full.get(asked.id!)!);
    assert.deepEqual([bodies.status, bodies.error], [200, null]);
    assert.match(bodies.request, /aubergine/);
    assert.ok(bodies.answer.length > 0);
    assert.deepEqual(JSON.parse(bare.get(asked.id!)!), record);
    assert.doesNotMatch(bare.get(asked.id!)!, /aubergine/);
    assert.equal(full.get(silent.id!), bare.get(silent.id!));
  });

  test('a sink that fails is told by the log, the doctor, the overview and the metrics, and is caught up with', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    let works = false;
    const receiver = await startReceiver(t, () => (works ? 204 : 500));
    const gateway = await startGateway(t, {
      ...overUpstreams(upstream.url),
      telemetry: { sinks: [{ name: 'hook', webhook: receiver.url, secret, every: '100ms' }] },
    });
    const admin = async (path: string) => {
      const answer = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${adminKey}` } });
      return answer.text();
    };
    const { id } = await ask(gateway.url);
    await until('it was tried', () => receiver.posts.length >= 1);
    await after(1_200);
    const doctors = async () => {
      const texts = await Promise.all(Array.from({ length: 8 }, () => admin('/admin/v1/doctor')));
      return texts.map((text) =>
        JSON.parse(text).findings.find(({ check }: { check: string }) => check === 'sink hook'),
      );
    };
    await until('every process says so', async () => (await doctors()).every(({ state }) => state === 'warning'));
    const [found] = await doctors();
    assert.match(found.message, /has waited for \d+ s: 127\.0\.0\.1:\d+ answers 500/);
    assert.doesNotMatch(found.message, /\/in/);
    const { wrong } = JSON.parse(await admin('/admin/v1/overview'));
    assert.ok(
      wrong.some(({ text }: { text: string }) => /^Sink hook: takes no records/.test(text)),
      JSON.stringify(wrong),
    );
    const lag = /culvert_sink_lag_seconds\{sink="hook"\} ([\d.]+)/.exec(await admin('/metrics'));
    assert.ok(Number(lag?.[1]) >= 1, lag?.[0]);
    works = true;
    await until('it has it', () => receiver.posts.some(({ status, body }) => status === 204 && body.includes(id!)));
    await until('all is well', async () => /culvert_sink_lag_seconds\{sink="hook"\} 0\n/.test(await admin('/metrics')));
  });
});
