import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { startGateway } from '../start-gateway.ts';
import { type Ran, runCommand, startProcess, temporaryFolder } from '../start-process.ts';

const laptop = 'sk-cv-test-laptop-0001';
const phone = 'sk-cv-test-phone-0001';
const config = {
  autodetect: 'off',
  vectors: { workers: 1 },
  keys: [
    { key: laptop, account: 'dev', name: 'laptop' },
    { key: phone, account: 'dev', name: 'phone' },
    { key: 'sk-cv-test-tablet-0001', account: 'dev', name: 'tablet' },
  ],
};
const points = Array.from({ length: 300 }, (_, at) => ({ id: at, vector: [at, 0.1, 1], payload: { at } }));

function commandsIn(cwd: string) {
  const culvert = (...args: string[]) => runCommand(['vectors', ...args], { cwd });
  const done = async (...args: string[]): Promise<Ran> => {
    const ran = await culvert(...args);
    assert.equal(ran.code, 0, `culvert vectors ${args.join(' ')}: ${ran.stderr}`);
    return ran;
  };
  const tenants = async () => {
    const { data } = JSON.parse((await done('list')).stdout) as { data: { tenant: string; points: number }[] };
    return Object.fromEntries(data.map(({ tenant, points: count }) => [tenant, count]));
  };
  return { culvert, done, tenants };
}

async function send(url: string, key: string, method: string, path: string, body?: unknown): Promise<number> {
  const answer = await fetch(`${url}/v1/vectors${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  await answer.text();
  return answer.status;
}

function endOf(count: number) {
  return { end: { collections: 1, points: count } };
}

describe('culvert vectors, run as a program', { concurrency: true }, () => {
  test('moves what a key has through a file, with and without a server, and deletes it when told so', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const file = join(cwd, 'laptop.jsonl');
    const { culvert, done, tenants } = commandsIn(cwd);
    const server = await startProcess(t, { cwd });
    const collection = { name: 'docs', vector_size: 3, distance: 'Dot', metadata: { team: 'search' } };
    assert.equal(await send(server.url, laptop, 'POST', '/collections', collection), 200);
    assert.equal(await send(server.url, laptop, 'POST', '/collections/docs/points', { points }), 200);

    assert.match((await done('export', '--tenant', 'dev/laptop', file)).stderr, /1 collections with 300 points/);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    assert.equal(lines.length, 303);
    assert.deepEqual(JSON.parse(lines[2]!), points[0]);
    await done('import', '--tenant', 'dev/phone', file);
    assert.deepEqual(await tenants(), { 'dev/laptop': 300, 'dev/phone': 300 });

    await server.stop();
    const broken = join(cwd, 'broken.jsonl');
    writeFileSync(broken, `${lines.slice(0, 100).join('\n')}\n{"id": 5, "vector": [1], "payload": null}\n`);
    const stopped = await culvert('import', '--tenant', 'dev/phone', broken);
    assert.equal(stopped.code, 1);
    assert.match(stopped.stderr, /points\[\d+\]\.vector: expected 3 numbers, got 1[\s\S]*--from-line 3\n$/);
    assert.deepEqual(await tenants(), { 'dev/laptop': 300, 'dev/phone': 300 }, 'in this process');
    writeFileSync(broken, `${lines.slice(0, 100).join('\n')}\n`);
    const cut = await culvert('import', '--tenant', 'dev/tablet', broken);
    assert.match(cut.stderr, /cut short after line 100\.[\s\S]*Everything up to line 100 [\s\S]* --from-line 101\n$/);
    assert.match((await done('import', '--tenant', 'dev/tablet', file, '--from-line', '101')).stderr, /202 points/);
    await done('purge', 'dev/tablet', '--yes');

    const asked = await culvert('purge', 'dev/phone');
    assert.equal(asked.code, 1);
    assert.match(asked.stderr, /'dev\/phone' has 1 collections with 300 points\. .*--yes/);
    await done('purge', 'dev/phone', '--yes');
    await done('adopt', 'dev/laptop', 'dev/phone');
    assert.deepEqual(await tenants(), { 'dev/phone': 300 });
  });

  test('takes up many small points, whose members are too many for one request', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { done, tenants } = commandsIn(cwd);
    const server = await startProcess(t, { cwd });
    const small = Array.from({ length: 4_000 }, (_, id) => ({ id, vector: [1, 2], payload: { a: 1, b: 2, c: 3 } }));
    assert.equal(await send(server.url, laptop, 'POST', '/collections', { name: 'small', vector_size: 2 }), 200);
    assert.equal(await send(server.url, laptop, 'POST', '/collections/small/points', { points: small }), 200);
    await done('export', '--tenant', 'dev/laptop', 'small.jsonl');
    await done('import', '--tenant', 'dev/phone', 'small.jsonl');
    assert.deepEqual(await tenants(), { 'dev/laptop': 4_000, 'dev/phone': 4_000 });
  });

  test('moves between engines: what one exports, the other imports, every id and number the same', async (t) => {
    const [here, there] = [temporaryFolder(t), temporaryFolder(t)];
    writeFileSync(join(here, 'culvert.yaml'), stringify(config));
    const qdrant = await startGateway(t);
    const vectors = { engine: 'qdrant', url: qdrant.url, api_key: qdrant.key, workers: 1 };
    writeFileSync(join(there, 'culvert.yaml'), stringify({ ...config, vectors }));
    const [embedded, overQdrant] = [commandsIn(here), commandsIn(there)];
    const collection = {
      name: 'docs',
      vector_size: 3,
      distance: 'Euclid',
      embedding_model: null,
      payload_indexes: { at: 'integer' },
      aliases: ['live'],
    };
    const lines = [{ culvert_vectors: 1, tenant: 'dev/laptop' }, { collection }, ...points, endOf(points.length)];
    const [first, second, third] = ['first', 'second', 'third'].map((name) => join(here, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(first, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    await overQdrant.done('import', '--tenant', 'dev/laptop', first);
    assert.deepEqual(await overQdrant.tenants(), { 'dev/laptop': points.length });
    await overQdrant.done('export', '--tenant', 'dev/laptop', second);
    await embedded.done('import', '--tenant', 'dev/laptop', second);
    await embedded.done('export', '--tenant', 'dev/laptop', third);
    assert.equal(readFileSync(third, 'utf8'), readFileSync(first, 'utf8'));
  });

  test('numbers keep all their digits on the way through a file', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { done } = commandsIn(cwd);
    const post = '{"post":1234567890123456789,"reply":[-9007199254740993],"n":7}';
    const point = (id: number, payload: string) => `{"id":${id},"vector":[1,2,3],"payload":${payload}}`;
    const collection = '{"name":"docs","vector_size":3,"distance":"Dot","embedding_model":null';
    const text = [
      '{"culvert_vectors":1,"tenant":"dev/laptop"}',
      `{"collection":${collection},"payload_indexes":{},"aliases":[]}}`,
      point(1, post),
      point(2, 'null'),
      // More than a megabyte is read in another thread.
      point(3, `{"text":"${'a'.repeat(1_100_000)}","post":1234567890123456789}`),
      '{"end":{"collections":1,"points":3}}\n',
    ].join('\n');
    writeFileSync(join(cwd, 'first'), text);
    const through = async (file: string) => {
      await done('import', '--tenant', 'dev/laptop', 'first');
      await done('export', '--tenant', 'dev/laptop', file);
      assert.ok(readFileSync(join(cwd, file), 'utf8') === text, file);
      await done('purge', 'dev/laptop', '--yes');
    };
    await through('in-this-process');
    const server = await startProcess(t, { cwd });
    await through('at-a-server');
    await server.stop();
  });

  test('culvert doctor names a collection of which a payload is damaged', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const server = await startProcess(t, { cwd });
    assert.equal(await send(server.url, laptop, 'POST', '/collections', { name: 'docs', vector_size: 3 }), 200);
    const words = 'a payload that nobody else has';
    const one = { id: 1, vector: [1, 2, 3], payload: { words } };
    assert.equal(await send(server.url, laptop, 'POST', '/collections/docs/points', { points: [one] }), 200);
    await server.stop();
    assert.doesNotMatch((await runCommand(['doctor'], { cwd })).stdout, /docs/);
    const files = readdirSync(cwd, { recursive: true, encoding: 'utf8' });
    for (const name of files.filter((one) => one.endsWith('.db'))) {
      const path = join(cwd, name);
      const bytes = readFileSync(path);
      const at = bytes.indexOf(words);
      if (at < 0) continue;
      bytes[at] = 'A'.charCodeAt(0);
      writeFileSync(path, bytes);
    }
    const found = await runCommand(['doctor'], { cwd });
    assert.match(found.stdout, /collection 'docs' of dev\/laptop/, found.stdout);
  });

  test('culvert check says what Qdrant cannot do, where Qdrant keeps the vectors', async (t) => {
    const cwd = temporaryFolder(t);
    const vectors = { engine: 'qdrant', url: 'http://127.0.0.1:6333' };
    writeFileSync(join(cwd, 'culvert.yaml'), stringify({ ...config, vectors }));
    const text = await runCommand(['check'], { cwd });
    assert.match(text.stdout, /Qdrant keeps the vectors. These calls return 501 with it: .*text index\)\.\n/);
    const json = JSON.parse((await runCommand(['check', '--json'], { cwd })).stdout) as { unsupported: string[] };
    assert.equal(json.unsupported.length, 1);
  });

  test('says in a sentence what is wrong with a file or a name', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { culvert } = commandsIn(cwd);
    const of = (name: string, text: string) => {
      writeFileSync(join(cwd, name), text);
      return ['import', '--tenant', 'dev/laptop', name];
    };
    const head = '{"culvert_vectors":1,"tenant":"x"}\n';
    const refusals: [string[], RegExp][] = [
      [['import', '--tenant', 'dev/laptop', 'none.jsonl'], /There is no file none\.jsonl/],
      [of('other', 'id,vector\n'), /other is not an export of culvert vectors/],
      [of('cut', head), /cut is cut short after line 1/],
      [of('torn', `${head}{"collection":{"na`), /torn is cut short or damaged in line 2/],
      [['export', '--tenant', 'dev/laptop', 'out.jsonl'], /The tenant 'dev\/laptop' has no collections/],
      [['adopt', 'dev/none', 'dev/laptop'], /The tenant 'dev\/none' has no collections/],
      [['adopt', 'dev/laptop', 'dev/none'], /no key owns 'dev\/none'/],
      [['purge', 'dev/none', '--yes'], /The tenant 'dev\/none' has no collections/],
    ];
    // One after another: the data folder is one process'.
    for (const [args, words] of refusals) {
      const { code, stdout, stderr } = await culvert(...args);
      assert.match(stderr, words);
      assert.deepEqual([code, stdout, stderr.trim().split('\n').length], [1, '', 1], stderr);
    }
  });
});
