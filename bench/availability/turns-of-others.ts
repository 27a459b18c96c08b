import { setTimeout as pause } from 'node:timers/promises';
import { findTool } from '../../src/engines/audio/find-tool.ts';
import { flood, hardCalls, hardPattern, hardText, serveHardSite } from '../../test/faults/hard-work.ts';
import { judged, type Row, told } from '../rows.ts';
import { type Asked, ask, besideKey, type Ground, longestMs, requestOf, takerKey } from './ground.ts';

/** How often the other key asks, and how often all of it is measured. */
const asks = 3;
const rounds = 2;

/**
 * The calls that one key sends in numbers, and those of another key meanwhile; the figure is the other's longest wait.
 */
interface Contest {
  what: string;
  /** For the other, in seconds. */
  atMost: number;
  hard(nth: number, signal: AbortSignal): Promise<Response>;
  hardCalls?: number;
  easy(nth: number): Promise<Asked>;
}

async function contestRows({ what, atMost, hard, easy, hardCalls: calls = hardCalls }: Contest): Promise<Row[]> {
  let nth = 0;
  const ofOther = () => longestMs(asks, () => easy(nth++));
  // Threads and tables are there.
  await ofOther();
  const alone = await ofOther();
  const beside: number[] = [];
  const answered: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const taking = flood((at, signal) => hard(round * calls + at, signal), calls);
    try {
      await pause(200);
      beside.push((await ofOther()) / 1_000);
      answered.push(taking.answered());
    } finally {
      await taking.end();
    }
    await pause(1_000);
  }
  return [
    judged(what, beside, { atMost, unit: ' s', digits: 2 }),
    told(
      '… alone; hard ones answered meanwhile',
      `${(alone / 1_000).toFixed(2)} s; ${answered.join(', ')} of ${calls}`,
    ),
  ];
}

async function startAtSite(ground: Ground): Promise<{ url: string; site: string }> {
  const { place, url: site } = await serveHardSite(ground);
  const sections = { fetch: { allow_private: [place] }, tools: { crawl: { delay: '0s' } } };
  const { url } = await ground.start({ ...ground.chatOver('ok'), ...sections });
  return { url, site };
}

/** S30 */
export async function pages(ground: Ground): Promise<Row[]> {
  const { url, site } = await startAtSite(ground);
  const page = (path: string) => ({ url: site + path, maxAge: 0, render: 'never' });
  return contestRows({
    what: `${hardCalls} slow pages of one key: another's scrape waits`,
    atMost: 2,
    hard: (nth, signal) =>
      fetch(`${url}/v1/tools/scrape`, { ...requestOf(takerKey, 'POST', page(`/hard?${nth}`)), signal }),
    easy: (nth) => ask(url, besideKey, 'POST', '/v1/tools/scrape', page(`/easy?${nth}`)),
  });
}

/** S30 */
export async function patterns(ground: Ground): Promise<Row[]> {
  const { url, site } = await startAtSite(ground);
  const order = { url: `${site}/links`, sitemap: 'skip', ignoreRobotsTxt: true, excludePaths: [hardPattern] };
  const hard = async (_: number, signal: AbortSignal) => {
    const { id } = await crawled(takerKey, order, signal);
    return fetch(`${url}/v1/tools/crawl/${id}`, requestOf(takerKey, 'DELETE'));
  };
  const crawled = async (key: string, json: object, signal: AbortSignal | null): Promise<Asked & { id: string }> => {
    const startedMs = performance.now();
    const begun = await ask(url, key, 'POST', '/v1/tools/crawl', json);
    const { id } = JSON.parse(begun.text) as { id: string };
    for (;;) {
      const told = await ask(url, key, 'GET', `/v1/tools/crawl/${id}`);
      const { status } = JSON.parse(told.text) as { status: string };
      if (status === 'failed' && signal === null) throw new Error(told.text);
      if (status !== 'scraping' || signal?.aborted) return { ...told, id, ms: performance.now() - startedMs };
      await pause(signal === null ? 20 : 500);
    }
  };
  const easy = () => crawled(besideKey, { url: site, limit: 1, sitemap: 'skip' }, null);
  return contestRows({
    what: `${hardCalls} crawls of one key with a catastrophic pattern: another's crawl takes`,
    atMost: 2,
    hard,
    easy,
  });
}

/** S30 */
export async function tokens(ground: Ground): Promise<Row[]> {
  const { url } = await ground.start(ground.chatOver('ok'));
  const path = '/v1/messages/count_tokens';
  const text = (content: string) => JSON.stringify({ model: 'chat', messages: [{ role: 'user', content }] });
  const large = text(hardText());
  return contestRows({
    what: `${hardCalls} texts of 4 MB of one key to count tokens of: another's count waits`,
    atMost: 2,
    hard: (_, signal) => fetch(url + path, { ...requestOf(takerKey, 'POST', large), signal }),
    easy: () => ask(url, besideKey, 'POST', path, text('Hello '.repeat(10))),
  });
}

const speeches = 128;

/** S30: every speech is made by espeak-ng and goes through ffmpeg. */
export async function transcodes(ground: Ground): Promise<Row[]> {
  for (const tool of ['ffmpeg', 'espeak-ng'])
    if (findTool(tool, process.env.PATH ?? '') === null) return [told('transcodes of one key', `${tool} is not there`)];
  const voice = { type: 'speech', targets: ['culvert/espeak-ng'] };
  const { url } = await ground.start({ providers: {}, models: { voice } });
  const speech = (input: string) => ({ model: 'voice', voice: 'alloy', input, response_format: 'opus' });
  const long = speech('It goes on and on, and nobody knows why. '.repeat(99));
  return contestRows({
    what: `${speeches} long speeches of one key to transcode: another's short one takes`,
    atMost: 2,
    hardCalls: speeches,
    hard: (_, signal) => fetch(`${url}/v1/audio/speech`, { ...requestOf(takerKey, 'POST', long), signal }),
    easy: () => ask(url, besideKey, 'POST', '/v1/audio/speech', speech('It is short.')),
  });
}
