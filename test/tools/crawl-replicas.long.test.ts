import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openPostgres } from '../../src/stores/postgres/open.ts';
import { storageOver } from '../faults/replicas.ts';
import { startGateway } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';

const skip = postgresMissing || redisMissing;

test('two replicas crawl for each other, and take their turns at a host from one place', { skip }, async (t) => {
  const site = createServer((request, response) => {
    if (request.url === '/robots.txt') return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>Page ${request.url} <a href="/a">a</a></p>`);
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    site.closeAllConnections();
    site.close();
  });
  const place = `127.0.0.1:${(site.address() as AddressInfo).port}`;
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const url = postgres.newDatabase();
  const config = {
    storage: storageOver(url, redis),
    fetch: { allow_private: [place] },
    tools: { crawl: { delay: '1ms' } },
  };
  const replicas = [await startGateway(t, config), await startGateway(t, config)];
  const json = { url: `http://${place}/`, sitemap: 'skip' };
  for (const [at, replica] of replicas.entries()) {
    // Until its counters are known a replica answers with a retry.
    let begun: Response;
    do begun = await replica.fetch('/v1/tools/crawl', { json });
    while (begun.status === 503 && (await pause(50, true)));
    const { id } = (await begun.json()) as { id: string };
    const other = replicas[1 - at]!;
    let crawl: { status: string; completed: number };
    do {
      await pause(20);
      crawl = (await (await other.fetch(`/v1/tools/crawl/${id}`)).json()) as typeof crawl;
    } while (crawl.status === 'scraping');
    assert.deepEqual([crawl.status, crawl.completed], ['completed', 2]);
  }
  const database = await openPostgres(url);
  t.after(database.close);
  const { rows } = await database.rest.run('SELECT FROM culvert.crawl_turn');
  assert.equal(rows.length, 1, 'one host, whoever asked it');
});
