import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfigText } from '../../config/check.ts';
import { createSetup } from './setup.ts';

test('a change that could not be loaded fails for its caller alone: the next one is in force', async () => {
  const read = (text: string) => {
    const result = checkConfigText(text, 'culvert.yaml', {});
    assert.ok(result.ok);
    return result.config;
  };
  const first = read('{}');
  const setup = createSetup({
    config: first,
    env: {},
    secrets: { all: () => [] },
    log: { warn() {}, error() {} },
  });
  const used: string[] = [];
  setup.begin(async (config, asking) => {
    const { level } = config.telemetry.log;
    if (level === 'warn') throw new Error('the folder of its cache is gone');
    used.push(`${level}, asking ${asking}`);
    return { providersListed: Promise.resolve() };
  });
  await assert.rejects(setup.declare(read('telemetry: { log: { level: warn } }')), /is gone/);
  await setup.declare(read('telemetry: { log: { level: error } }'));
  await setup.settled();
  assert.deepEqual(used, ['error, asking every provider']);
});
