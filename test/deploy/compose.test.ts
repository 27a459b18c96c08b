import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { checkConfigText } from '../../src/config/check.ts';
import { formatProblem } from '../../src/config/problem.ts';
import { temporaryFolder } from '../start-process.ts';
import { deploy, programsMissing, runProgram } from './tools.ts';

const read = (file: string) => readFileSync(join(deploy, file), 'utf8');
/** As Docker fills it in from an .env in which everything has a value. */
const filledIn = read('compose.yaml').replace(/\$\{\w+(?::([-?])([^}]*))?\}/g, (_, sign, rest) =>
  sign === '-' ? rest : 'sk-cv-in-place-of-a-secret-that-is-long-enough',
);
const { services, volumes } = parse(filledIn, { merge: true }) as {
  services: Record<
    string,
    { image: string; volumes?: string[]; environment?: Record<string, string> } & Record<string, unknown>
  >;
  volumes: Record<string, unknown>;
};

test('the compose file is one by the schema of its specification', { skip: programsMissing('compose-check') }, (t) => {
  const cwd = temporaryFolder(t);
  cpSync(deploy, cwd, { recursive: true });
  writeFileSync(join(cwd, 'compose.yaml'), filledIn);
  const { code, said } = runProgram('compose-check', ['-no-interpolation', 'compose.yaml'], { cwd });
  assert.equal(code, 0, said);
});

test('every image of it has a tag of one version, every service a health check and a bound for its log', () => {
  for (const [name, service] of Object.entries(services)) {
    assert.match(service.image, name === 'culvert' ? /^culvert:/ : /:v?\d+\.\d+/, name);
    // That of Culvert is the image's own.
    assert.ok(name === 'culvert' || service.healthcheck !== undefined, `${name} has no health check`);
    assert.ok(service.logging !== undefined, `${name} logs without end`);
    for (const volume of service.volumes ?? []) {
      const [from, , mode] = volume.split(':');
      if (!from!.startsWith('.')) assert.ok(from! in volumes, `${name}: volume ${from}`);
      else assert.ok(mode === 'ro' && existsSync(join(deploy, from!)), `${name}: ${volume}`);
    }
  }
});

test('env.example names every variable that must have a value', () => {
  const named = new Set([...read('env.example').matchAll(/^(\w+)=/gm)].map(([, name]) => name));
  const needed = [...read('compose.yaml').matchAll(/\$\{(\w+):\?\}/g)].map(([, name]) => name!);
  assert.ok(needed.length > 5);
  for (const name of needed) assert.ok(named.has(name), name);
});

test('culvert.yaml is valid with what the compose file gives it, and leaves nothing open', () => {
  const { environment } = services.culvert!;
  const checked = checkConfigText(read('culvert.yaml'), 'culvert.yaml', {
    ...environment!,
    CULVERT_ADMIN_KEY: 'sk-cv-admin-the-key-of-the-operator',
  });
  assert.ok(checked.ok, checked.ok ? '' : checked.errors.map(formatProblem).join('\n'));
  assert.deepEqual(checked.warnings.map(formatProblem), []);
  const { config } = checked;
  assert.equal(config.vectors.engine, 'qdrant');
  assert.equal(config.tools.search.providers[0]!.base_url, 'http://searxng:8080');
});
