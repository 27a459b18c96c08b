import assert from 'node:assert/strict';
import { checkConfigText } from './check.ts';
import type { Env } from './environment.ts';
import { formatProblem } from './problem.ts';
import type { Config } from './schema.ts';

/** The configuration of a text of culvert.yaml that is right; the test fails where it is not. */
export function configOf(text: string, env: Env = {}): Config {
  const result = checkConfigText(text, 'culvert.yaml', env);
  assert.ok(result.ok, result.ok ? '' : result.errors.map(formatProblem).join('\n'));
  return result.config;
}

/** The errors of a text of culvert.yaml, as a start prints them. */
export function errorsOf(text: string, env: Env = {}): string[] {
  const result = checkConfigText(text, 'culvert.yaml', env);
  assert.ok(!result.ok, 'the check should fail');
  return result.errors.map(formatProblem);
}
