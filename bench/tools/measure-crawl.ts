import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds, loadCore, proxyCore, residentMb, scratchFolder, startUpstream } from '../gateway/processes.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import { startChats } from '../vectors/chat-thread.ts';
import { type RunningGateway, startWatchedGateway } from '../vectors/watched-gateway.ts';

const concurrency = 10;
const idleMs = 15_000;
const askIntervalMs = 100;

/** A site of `count` pages crawled by a gateway with everything on, on both cores, chats beside it. */
export async function measureCrawl(count: number): Promise<Row[]> {
  // Load of others on the machine says more of the figures below than the gateway does.
  const [load = 0] = loadavg();
  const site = await startSite(count);
  const upstream = await startUpstream();
  const folder = scratchFolder();
  const gateway = await startWatchedGateway({
    upstreamPort: upstream.port,
    folder,
    cores: `${proxyCore},${loadCore}`,
    sections: {
      fetch: { allow_private: [`127.0.0.1:${site.port}`] },
      tools: { crawl: { max_pages: 100_000, delay: '0s' } },
    },
  });
  const url = `http://127.0.0.1:${site.port}`;
  try {
    // The start at the first page, and the compiler's work, do not belong to the crawl.
    await crawl(gateway, url, 200);
    const alone = startChats(gateway.port);
    await pause(idleMs);
    const idle = await alone.stop();
    const before = await gateway.facts();
    const mbBefore = residentMb(gateway.pid);

    const busy = startChats(gateway.port);
    // Chats without an end would hide a fault.
    const first = await crawl(gateway, url, count).catch(async (error) => {
      await busy.stop();
      throw error;
    });
    const during = await busy.stop();
    const between = await gateway.facts();
    const second = await crawl(gateway, url, count);
    const after = await gateway.facts();

    const hung = performance.now();
    await gateway.client.send('POST', '/v1/tools/scrape', { url: `${url}/hang`, formats: ['text'], maxAge: 0 });
    const hungS = (performance.now() - hung) / 1_000;

    return [
      judged(`crawl of ${count} pages, ${concurrency} at a time`, [first.perSecond], {
        atLeast: 40,
        unit: ' pages/s',
        digits: 0,
      }),
      told('… load of the machine when it began; none is what is asked for', load.toFixed(1)),
      told('… again, without chats beside it', `${second.perSecond.toFixed(0)} pages/s`),
      told(
        '… CPU of the gateway a page, with chats, without',
        `${first.cpuMsPerPage.toFixed(1)}, ${second.cpuMsPerPage.toFixed(1)} ms`,
      ),
      judged('… chat p99 meanwhile ÷ idle', [percentile(during, 0.99) / percentile(idle, 0.99)], {
        atMost: 2,
        unit: '×',
        digits: 2,
      }),
      told('… chat p50 / p99, idle; meanwhile', `${shown(idle)}; ${shown(during)} ms`),
      told('… event-loop delay p99 / max', `${between.p99Ms.toFixed(1)} / ${between.maxMs.toFixed(1)} ms`),
      told(
        '… memory of the process before, after one, after two',
        `${mbBefore.toFixed(0)}, ${first.mb.at(-1)?.toFixed(0)}, ${second.mb.at(-1)?.toFixed(0)} MB`,
      ),
      judged('… its slope over the second, per 1,000 pages', [slope(second.mb) * (1_000 / count)], {
        atMost: 5,
        unit: ' MB',
        digits: 1,
      }),
      told(
        '… heap of the main thread before, after one, after two',
        `${[before, between, after].map(({ heapMb }) => heapMb.toFixed(1)).join(', ')} MB`,
      ),
      judged('a page that hangs its reader: given as plain text after', [hungS], { atMost: 10, unit: ' s', digits: 1 }),
    ];
  } finally {
    await gateway.stop();
    upstream.stop();
    site.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Crawled {
  perSecond: number;
  /** Of the gateway, all threads. */
  cpuMsPerPage: number;
  /** Resident, as often as its progress was asked for. */
  mb: readonly number[];
}

/** Until it has ended; nothing comes from the cache. */
async function crawl({ client, pid }: RunningGateway, url: string, limit: number): Promise<Crawled> {
  const startedMs = performance.now();
  const startedCpuS = cpuSeconds(pid);
  const begun = await client.send('POST', '/v1/tools/crawl', {
    url: `${url}/p/0`,
    crawlEntireDomain: true,
    limit,
    maxDiscoveryDepth: 50,
    sitemap: 'skip',
    maxConcurrency: concurrency,
    delay: 0,
    scrapeOptions: { maxAge: 0 },
  });
  const { id } = JSON.parse(begun.toString()) as { id: string };
  const mb: number[] = [];
  for (;;) {
    await pause(askIntervalMs);
    mb.push(residentMb(pid));
    const answer = await client.send('GET', `/v1/tools/crawl/${id}?limit=1`);
    const { status, completed } = JSON.parse(answer.toString()) as { status: string; completed: number };
    if (status === 'scraping') continue;
    if (status !== 'completed' || completed !== limit) throw new Error(`the crawl ended ${status} at ${completed}`);
    return {
      perSecond: (completed * 1_000) / (performance.now() - startedMs),
      cpuMsPerPage: ((cpuSeconds(pid) - startedCpuS) * 1_000) / completed,
      mb,
    };
  }
}

/** Of the whole run, by least squares: from its first sample to its last. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const covariance = values.reduce((sum, value, at) => sum + (at - middle) * (value - mean), 0);
  const variance = values.reduce((sum, _, at) => sum + (at - middle) ** 2, 0);
  return (covariance / variance) * (values.length - 1);
}

async function startSite(count: number): Promise<{ port: number; stop(): void }> {
  const child = fork(new URL('./site.ts', import.meta.url), [String(count)]);
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port));
    child.once('error', reject);
  });
  return { port, stop: () => void child.kill('SIGKILL') };
}

function shown(values: readonly number[]): string {
  return `${percentile(values, 0.5).toFixed(2)} / ${percentile(values, 0.99).toFixed(2)}`;
}
