import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { lanesOf, streamAtOnce } from '../../test/faults/many-streams.ts';
import { restartsBehindNginx } from '../../test/faults/restarts-behind-nginx.ts';
import { adminKey } from '../../test/start-gateway.ts';
import { nginxMissing } from '../../test/start-nginx.ts';
import { judged, type Row, told } from '../rows.ts';
import { type Asked, ask, besideKey, type Ground, takerKey } from './ground.ts';

const none = { atMost: 0, unit: '', digits: 0 };
const madeUpNames = 3_000;
const streams = 400;
/** This many restarts of each replica see some 100,000 chats. */
const restartRounds = 12;

/** S29: names under a pattern, and names of nobody. */
export async function metrics(ground: Ground): Promise<Row[]> {
  const { providers, models } = ground.chatOver('ok');
  const pattern = { 'claude-*': { targets: [{ provider: 'up', model: 'made-*' }] } };
  const { url } = await ground.start({ providers, models: { ...models, ...pattern } });
  const messages = [{ role: 'user', content: 'Hello' }];
  for (let sent = 0; sent < madeUpNames; sent += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        ask(url, takerKey, 'POST', '/v1/chat/completions', {
          model: `${i % 2 === 0 ? 'claude' : 'nobody'}-${sent + i}`,
          messages,
        }),
      ),
    );
  const scrapes: Asked[] = [];
  for (let i = 0; i < 3; i += 1) scrapes.push(await ask(url, adminKey, 'GET', '/metrics'));
  const size = (scrapes[0]?.text.length ?? 0) / 1_024;
  return [
    judged(`/metrics after ${madeUpNames} made-up model names`, [size], { atMost: 256, unit: ' KB', digits: 0 }),
    judged(
      '… a scrape takes',
      scrapes.map(({ ms }) => ms),
      { atMost: 100, unit: ' ms', digits: 0 },
    ),
  ];
}

/** F64 */
export async function descriptors(ground: Ground): Promise<Row[]> {
  if (spawnSync('prlimit', ['--version']).status !== 0) return [told('descriptors', 'prlimit is not there')];
  const under = ['prlimit', '--nofile=256:256'];
  const { url } = await ground.start(ground.chatOver('delay=1500ms'), { under });
  const seen = await streamAtOnce(url, streams);
  const count = (what: (typeof seen)[number]) => seen.filter((one) => one === what).length;
  const lanes = await lanesOf(url);
  return [
    judged(`${streams} streams on 256 descriptors: answered`, [count('answered')], {
      atLeast: 50,
      unit: '',
      digits: 0,
    }),
    judged('… 502 that blame a provider', [count(502)], none),
    told('… 503; closed unread', `${count(503)}; ${count('closed')}`),
    judged('… failures counted against the provider', [lanes.reduce((sum, { failed }) => sum + failed, 0)], none),
  ];
}

/** F67 */
export async function restarts(ground: Ground): Promise<Row[]> {
  if (nginxMissing !== false) return [told('rolling restart behind nginx', nginxMissing)];
  const config = ground.chatOver('ok');
  const { served, lost, log } = await restartsBehindNginx(ground, (at) => ground.start(config, { at }), restartRounds);
  if (lost.length > 0) console.error(lost.join('; '), readFileSync(log, 'utf8').slice(-20_000));
  return [judged(`${2 * restartRounds} restarts in turn behind nginx: lost of ${served}`, [lost.length], none)];
}

/** Of a plan that says nothing, after a burst over its requests a minute. */
export async function retryAfter(ground: Ground): Promise<Row[]> {
  const { url } = await ground.start({ ...ground.chatOver('ok'), plans: { default: {} } });
  let last: Asked | null = null;
  for (let sent = 0; last?.status !== 429; sent += 1) {
    if (sent === 200) throw new Error(`no 429: ${last?.status}`);
    last = await ask(url, besideKey, 'POST', '/v1/chat/completions', {
      model: 'chat',
      messages: [{ role: 'user', content: 'Hello' }],
    });
  }
  const seconds = last.headers.get('retry-after');
  const what = "Retry-After of the commonest 429, the plan's requests a minute";
  // A client is told to give up.
  if (seconds === null) return [{ what, measured: 'none', mustReach: '≤ 120 s', verdict: 'miss' }];
  return [judged(what, [Number(seconds)], { atMost: 120, unit: ' s', digits: 0 })];
}
