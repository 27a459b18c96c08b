import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { overUpstreams } from '../start-gateway.ts';
import { nginxMissing } from '../start-nginx.ts';
import { startUpstream } from '../start-upstream.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { restartsBehindNginx } from './restarts-behind-nginx.ts';

/** On a busy machine an answer may take seconds. */
const graceMs = 20_000;
/** Restarts of each replica. */
const rounds = Number(process.env.CULVERT_RUNS ?? 2);

test('F67 replicas behind the nginx of deploy/, which asks nobody how they are, are restarted in turn: no request is lost', {
  skip: nginxMissing,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = overUpstreams(upstream.url);
  const { served, lost, log } = await restartsBehindNginx(
    t,
    (at) => startGatewayProcess(t, config, { at, graceMs }),
    rounds,
  );
  t.diagnostic(`${served} requests, ${lost.length} lost`);
  assert.deepEqual(lost, [], readFileSync(log, 'utf8').replaceAll(/^.*(?=Connection refused).*$/gm, ''));
});
