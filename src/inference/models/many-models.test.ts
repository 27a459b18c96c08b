import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { checkConfigText } from '../../config/check.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { buildSnapshot } from './build-snapshot.ts';
import { createKnownModels, createModelRefresh } from './known-models.ts';

const nobody: Transport = {
  send: () => assert.fail('nobody is asked'),
  connect: () => assert.fail('nobody is asked'),
  close: async () => {},
  destroy() {},
};

/** Times that a snapshot goes through the names of all models, with so many providers of 20 models each. */
function walks(providers: number): number {
  const names = Array.from({ length: providers }, (_, at) => `p${at}`);
  const listed = Array.from({ length: 20 }, (_, at) => ({ id: `m-${at}`, type: 'chat' }));
  const entry = (name: string, at: number) =>
    `  ${name}: { type: openai, base_url: "http://${name}/v1"${at % 2 === 0 ? ', all_models: true' : ''} }`;
  const text = [
    'providers:',
    ...names.map(entry),
    'models:',
    '  a: { targets: [p0/m-1] }',
    '  b-*: { targets: [p0/m-*] }',
  ];
  const checked = checkConfigText(text.join('\n'), 'culvert.yaml', {});
  assert.ok(checked.ok);
  const places = names.map((name) => [`openai http://${name}/v1`, listed]);
  const known = createKnownModels({ transport: nobody, recall: () => JSON.stringify(places), keep() {} });
  let count = 0;
  const models = new Proxy(checked.config.models, {
    ownKeys(target) {
      count += 1;
      return Reflect.ownKeys(target);
    },
  });
  const built = buildSnapshot({
    config: { ...checked.config, models },
    env: {},
    locals: [],
    known,
    simulatorUrl: 'http://127.0.0.1:9',
    nowMs: 0,
  });
  assert.ok(built.kind === 'built');
  assert.ok(built.snapshot.models.all().length > providers * 10, 'the listed models are there');
  return count;
}

test('a snapshot goes through all models as often with 40 providers as with 2', () => {
  assert.equal(walks(40), walks(2));
});

test('providers that have listed their models are reported together, so that their targets are found once', async () => {
  const checked = checkConfigText('providers:\n  a: { type: openai }\n  b: { type: groq }', 'culvert.yaml', {});
  assert.ok(checked.ok);
  const known = createKnownModels({ transport: nobody, recall: () => null, keep() {} });
  const built = buildSnapshot({
    config: checked.config,
    env: {},
    locals: [],
    known,
    simulatorUrl: 'http://127.0.0.1:9',
    nowMs: 0,
  });
  assert.ok(built.kind === 'built');
  const reports: string[][] = [];
  const refresh = createModelRefresh({
    known: {
      ...known,
      refresh: async () => false,
      lastLook: new Map(['a', 'b'].map((name) => [name, { ok: true, models: [] }])),
    },
    snapshots: { current: built.snapshot },
    renew: () => assert.fail('nothing has changed'),
    onListed: (providers) => reports.push([...providers]),
    onTrouble() {},
    onError: (error) => assert.fail(String(error)),
  });
  await refresh.look();
  await turn();
  refresh.stop();
  assert.deepEqual(reports, [['a', 'b']]);
});
