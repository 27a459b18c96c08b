import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parse, stringify } from 'yaml';
import type { Config } from '../../src/config/schema.ts';
import { balanced } from '../faults/books-balance.ts';
import { newSeen, useUp } from '../faults/replicas.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { launch, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import {
  apart,
  ask,
  chat,
  inOnly,
  overBoth,
  replaced,
  type StartedProcesses,
  scrape,
  startProcesses,
} from './start-processes.ts';

async function upstreamFor(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return upstream;
}

/** `count` streams, each over its own connection, that have begun; how each ends, with the status and text of others. */
async function openStreams(url: string, count: number): Promise<{ end: Promise<string> }[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
      const call = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: apart });
      call.on('error', () => undefined);
      call.end(JSON.stringify({ ...chat, stream: true }));
      const [response] = await once(call, 'response');
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      const end = new Promise<string>((resolve) => {
        response.on('error', () => undefined);
        response.on('close', () => resolve(text.includes('[DONE]') ? 'whole' : `cut: ${response.statusCode} ${text}`));
      });
      return { end };
    }),
  );
}

function edit({ file }: StartedProcesses, change: (config: Record<string, unknown>) => void): void {
  const config = parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  change(config);
  writeFileSync(file, stringify(config));
}

overBoth(
  'limits are exact over two processes, and metrics, ledger and usage are those of one server',
  async (t, over) => {
    const upstream = await upstreamFor(t);
    const gateway = await startProcesses(t, over, upstream.url, {
      plans: { default: { windows: { '5h': 60, week: 10_000, month: 20_000 }, rpm: 1_000_000, concurrency: 1_000 } },
    });
    const { url } = gateway;
    assert.equal(gateway.workers().length, 2);
    const seen = await useUp([url], 16, { seen: newSeen() });
    assert.equal(seen.answered.length, 60);
    const { units } = await balanced(url);
    assert.equal(units, 60);
    const scrapes = [await scrape(url), await scrape(url)];
    for (const text of scrapes) {
      assert.match(text, /^culvert_requests_total\{[^}]*status="200"[^}]*\} 60$/m);
      assert.match(text, /^culvert_build_info\{[^}]*\} 1$/m, 'one server');
    }
    const lines = gateway
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    await until('the log is written', () => gateway.log().split('"msg":"request"').length > 60);
    for (const line of lines) assert.doesNotThrow(() => JSON.parse(line), 'no line is cut by another');
  },
);

overBoth(
  'kill -9 of a worker loses what it was answering and nothing else, and another one takes its place',
  async (t, over) => {
    const upstream = await upstreamFor(t);
    upstream.script('/v1/chat/completions', ['always tokens=100;interval=100ms']);
    const gateway = await startProcesses(t, over, upstream.url);
    const [victim, other] = gateway.workers() as [number, number];
    const doomed = await inOnly(other, () => openStreams(gateway.url, 5));
    const safe = await inOnly(victim, () => openStreams(gateway.url, 5));
    process.kill(victim, 'SIGKILL');
    const after = await Promise.all(Array.from({ length: 20 }, () => ask(gateway.url, '/healthz')));
    assert.deepEqual(new Set(after.map(({ status }) => status)), new Set([200]), 'the other one serves meanwhile');
    for (const end of await Promise.all(doomed.map(({ end }) => end))) assert.match(end, /^cut: 200/);
    assert.deepEqual(new Set(await Promise.all(safe.map(({ end }) => end))), new Set(['whole']));
    await replaced(gateway, 1);
    const now = gateway.workers();
    assert.equal(now.length, 2);
    assert.ok(now.includes(other) && !now.includes(victim));
    assert.equal((await ask(gateway.url, '/readyz')).status, 200);
    assert.match(gateway.log(), /"worker":1,"msg":"a worker died \(SIGKILL\)/);
    // Other servers over the same stores know of a death once its heartbeat is late.
    if (over.name === 'embedded') {
      const { text } = await ask(gateway.url, '/admin/v1/doctor', undefined, adminKey);
      assert.match(text, /Workers died within the last ten minutes: 1 of [^ ]+\. See culvert cluster\./);
    }
  },
);

overBoth(
  'a configuration is in force in all workers at once, and a worker that comes later has the same',
  async (t, over) => {
    const upstream = await upstreamFor(t);
    const gateway = await startProcesses(t, over, upstream.url);
    const has = async (model: string) => {
      const lists = await Promise.all(Array.from({ length: 6 }, () => ask(gateway.url, '/v1/models')));
      return lists.map(({ text }) => text.includes(`"${model}"`));
    };
    assert.deepEqual(new Set(await has('second')), new Set([false]));
    edit(gateway, (config) => {
      const models = config.models as Config['models'];
      models.second = models.chat!;
    });
    const reload = await ask(gateway.url, '/admin/v1/config/reload', {}, adminKey);
    assert.equal(reload.status, 200, reload.text);
    assert.deepEqual(new Set(await has('second')), new Set([true]), 'every worker, when the answer is there');
    assert.equal(gateway.log().split('configuration reloaded (the admin API)').length, 2, 'once');

    writeFileSync(gateway.file, 'models: [');
    gateway.process.kill('SIGHUP');
    await until('the file is refused', () => gateway.log().includes('configuration not reloaded (SIGHUP)'));
    process.kill(gateway.workers()[0]!, 'SIGKILL');
    await replaced(gateway, 1);
    assert.deepEqual(new Set(await has('second')), new Set([true]), 'the new worker has the one in force');
  },
);

overBoth('a worker that dies in a loop is not started again, and doctor says so', async (t, over) => {
  const upstream = await upstreamFor(t);
  const gateway = await startProcesses(t, over, upstream.url);
  const second = () => gateway.workers().at(-1)!;
  const [first] = gateway.workers();
  for (let deaths = 1; deaths <= 5; deaths++) {
    process.kill(second(), 'SIGKILL');
    if (deaths < 5) await replaced(gateway, deaths);
  }
  await until('it is given up', () => gateway.log().includes('is not started again'));
  assert.deepEqual(gateway.workers(), [first]);
  assert.equal((await ask(gateway.url, '/readyz')).status, 200);
  assert.equal((await ask(gateway.url, '/v1/chat/completions', chat)).status, 200);
  const { text } = await ask(gateway.url, '/admin/v1/doctor', undefined, adminKey);
  const finding = (JSON.parse(text) as { findings: { check: string; state: string; message: string }[] }).findings.find(
    ({ check }) => check === 'workers',
  );
  assert.equal(finding?.state, 'problem');
  assert.match(finding.message, /Worker 2 is not started again after 5 deaths within a minute; 1 of 2 serve\./);
});

overBoth(
  'F79 over two processes: SIGTERM ends every stream in full, and the data folder is free again',
  async (t, over) => {
    const upstream = await upstreamFor(t);
    upstream.script('/v1/chat/completions', ['always tokens=20;interval=50ms']);
    const gateway = await startProcesses(t, over, upstream.url, { server: { shutdown_grace: '60s' } });
    const { storage } = parse(readFileSync(gateway.file, 'utf8')) as { storage: { data_dir: string } };
    const streams = await openStreams(gateway.url, 10);
    const ended = once(gateway.process, 'exit');
    // As a terminal does, and supervisors that signal all of a group.
    for (const pid of [...gateway.workers(), gateway.process.pid!]) process.kill(pid, 'SIGTERM');
    assert.deepEqual(new Set(await Promise.all(streams.map(({ end }) => end))), new Set(['whole']));
    assert.deepEqual(await ended, [0, null]);
    assert.equal(existsSync(join(storage.data_dir, 'lock')), false);
    assert.doesNotMatch(gateway.log(), /died/);
  },
);

overBoth(
  'F79 streams wait to be accepted when SIGTERM comes to two processes: each is answered to its end',
  async (t, over) => {
    const upstream = await upstreamFor(t);
    upstream.script('/v1/chat/completions', ['always tokens=5;interval=20ms']);
    const gateway = await startProcesses(t, over, upstream.url, { server: { shutdown_grace: '60s' } });
    const ended = once(gateway.process, 'exit');
    const workers = gateway.workers();
    // The system connects on behalf of processes that stand still.
    for (const pid of workers) process.kill(pid, 'SIGSTOP');
    const streams = openStreams(gateway.url, 200);
    await until('all have connected', () => waitingAt(new URL(gateway.url).port) >= 200);
    gateway.process.kill('SIGTERM');
    for (const pid of workers) process.kill(pid, 'SIGCONT');
    const ends = await Promise.all((await streams).map(({ end }) => end));
    // Counters in Redis have 250 ms to answer: on a busy machine some requests are refused, which is an answer, too.
    const isRefused = (end: string) => over.name === 'shared' && /^cut: 503 .*#quota-unavailable"\}\}$/.test(end);
    assert.deepEqual(new Set(ends.filter((end) => !isRefused(end))), new Set(['whole']));
    assert.deepEqual(await ended, [0, null]);
  },
);

/** Connections that wait to be accepted at a port (proc_pid_net(5)). */
function waitingAt(port: string): number {
  const hexPort = Number(port).toString(16).toUpperCase().padStart(4, '0');
  const row = new RegExp(`:${hexPort} [0-9A-F]+:0000 0A [0-9A-F]+:([0-9A-F]+) `);
  return Number.parseInt(row.exec(readFileSync('/proc/self/net/tcp', 'utf8'))?.[1] ?? '0', 16);
}

overBoth('what cannot start says why, once: the port is taken, or the stores are for one process', async (t, over) => {
  const upstream = await upstreamFor(t);
  const gateway = await startProcesses(t, over, upstream.url);
  const start = async (config: Record<string, unknown>) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify({ autodetect: 'off', ...config }));
    const started = launch(t, ['start'], { cwd });
    const { code } = await started.exited;
    return { code, text: started.stderr() };
  };
  const port = Number(new URL(gateway.url).port);
  const taken = await start({ server: { port, processes: 2 }, storage: over.storage(t) });
  assert.equal(taken.code, 1);
  assert.equal(taken.text.split(`Another program uses port ${port}`).length, 2, taken.text);
  const alone = await start({ server: { port: 0, processes: 2 }, storage: { database: 'postgres://h/d' } });
  assert.equal(alone.code, 1);
  assert.match(alone.text, /server\.processes: 2 processes share their limits over Redis.*or set this to 1/);
});

overBoth('what lives in one process is shared: vectors, and items of converted answers', async (t, over) => {
  const upstream = await upstreamFor(t);
  const gateway = await startProcesses(t, over, upstream.url);
  const [one, other] = gateway.workers() as [number, number];
  const at = '/v1/vectors/collections';
  const at300 = (id: number) => [Math.cos(id / 300), Math.sin(id / 300)];
  const large = Array.from({ length: 300 }, (_, id) => ({
    id,
    vector: at300(id),
    payload: { text: 'x'.repeat(1_000) },
  }));
  await inOnly(other, async () => {
    const made = await ask(gateway.url, at, { name: 'notes', vector_size: 2 });
    assert.equal(made.status, 200, made.text);
    const stored = await ask(gateway.url, `${at}/notes/points`, { points: large });
    assert.equal(stored.status, 200, stored.text);
  });
  await inOnly(one, async () => {
    const found = await ask(gateway.url, `${at}/notes/points/search`, {
      vector: at300(150),
      limit: 1,
      with_payload: true,
    });
    assert.equal(found.status, 200, found.text);
    const [best] = (JSON.parse(found.text) as { result: { id: number; payload: { text: string } }[] }).result;
    assert.deepEqual([best?.id, best?.payload.text.length], [150, 1_000]);
    const unknown = await ask(gateway.url, `${at}/others/points/search`, { vector: [1, 1], limit: 1 });
    assert.equal(unknown.status, 404, unknown.text);
  });

  const first = await ask(gateway.url, '/v1/responses', { model: 'chat', input: 'Hello' });
  assert.equal(first.status, 200, first.text);
  const { output } = JSON.parse(first.text) as { output: { id: string }[] };
  const input = [
    { role: 'user', content: 'Hello' },
    { type: 'item_reference', id: output[0]!.id },
    { role: 'user', content: 'Again' },
  ];
  for (let turn = 0; turn < 4; turn++) {
    const next = await ask(gateway.url, '/v1/responses', { model: 'chat', input });
    assert.equal(next.status, 200, next.text);
  }
});

overBoth('each worker answers, also while the other stands still', async (t, over) => {
  const upstream = await upstreamFor(t);
  const gateway = await startProcesses(t, over, upstream.url);
  for (const stopped of gateway.workers()) {
    const asked = await inOnly(stopped, () =>
      Promise.all(Array.from({ length: 3 }, () => ask(gateway.url, '/v1/chat/completions', chat))),
    );
    assert.deepEqual(new Set(asked.map(({ status }) => status)), new Set([200]));
  }
});
