import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { deploy, programsMissing, runProgram } from './tools.ts';

const cwd = join(deploy, 'prometheus');
const skip = programsMissing('promtool');

test('promtool: the rules are sound, and each fires when it should and not before', { skip }, () => {
  for (const args of [
    ['check', 'rules', '--lint-fatal', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    const { code, said } = runProgram('promtool', args, { cwd });
    assert.equal(code, 0, said);
  }
});

test('promtool: the configuration of the compose file is sound', { skip }, () => {
  // Files that exist inside the container alone are not looked for.
  const { code, said } = runProgram('promtool', ['check', 'config', '--syntax-only', 'prometheus.yml'], { cwd });
  assert.equal(code, 0, said);
});

test('each alert has a test in which it fires, a severity and words of what to do', () => {
  const { groups } = parse(readFileSync(join(cwd, 'alerts.yml'), 'utf8'));
  const { tests } = parse(readFileSync(join(cwd, 'alerts.test.yml'), 'utf8'));
  const fires = new Set(
    tests
      .filter((one: { promql_expr_test: { exp_samples: unknown[] }[] }) =>
        one.promql_expr_test.some(({ exp_samples }) => exp_samples.length > 0),
      )
      .map(({ name }: { name: string }) => name),
  );
  for (const { rules } of groups)
    for (const { alert, labels, annotations } of rules) {
      assert.ok(fires.has(alert), `no test in which ${alert} fires`);
      assert.match(labels.severity, /^(page|ticket)$/, alert);
      assert.ok(annotations.summary && annotations.action, alert);
    }
});
