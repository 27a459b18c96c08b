// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are culvert.yaml, whose references look like this
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { configReference } from '../../scripts/docs/config-reference.ts';
import { checkConfigText } from './check.ts';
import { zeroConfig } from './defaults.ts';
import { initialConfigText } from './init.ts';
import type { JsonSchema } from './json-schema.ts';
import { configJsonSchema, inputSchema } from './json-schema.ts';

const written = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const rewrite = 'run node scripts/write-config-docs.mjs';

test('the written reference and JSON Schema are those of the schema', () => {
  assert.equal(written('configuration.md'), configReference(), rewrite);
  assert.equal(written('culvert.schema.json'), `${JSON.stringify(configJsonSchema(), null, 2)}\n`, rewrite);
});

test('every key has a description', () => {
  const walk = (schema: JsonSchema, path: string) => {
    for (const [key, child] of Object.entries(schema.properties ?? {})) {
      assert.ok(child.description, `${path}.${key} has none`);
      walk(child, `${path}.${key}`);
    }
    if (typeof schema.additionalProperties === 'object') walk(schema.additionalProperties, `${path}.*`);
    if (schema.items !== undefined) walk(schema.items, `${path}[]`);
    for (const branch of schema.anyOf ?? []) walk(branch, path);
  };
  walk(inputSchema(), '');
});

test('editors accept what the check accepts, references included, and refuse what it refuses', () => {
  const validate = new Ajv2020({ strict: false }).compile(configJsonSchema());
  for (const text of [
    'server: { port: "${PORT}", body_limit: "${LIMIT:-32mb}", host: 127.0.0.1 }',
    'models: { "a-*": { targets: [p/m, { provider: p, model: m, body: { x: [1, null] } }] } }',
    'plans: { a: { windows: off, rpm: "${RPM}" }, b: { windows: { 5h: 50 } } }',
    'telemetry: { prometheus: "${ON}" }',
    'simulator: "${SIMULATOR:-off}"',
    'keys: [{ key: "${DEV_KEY}", expires: 2027-01-01 }]',
  ]) {
    assert.ok(validate(parse(text)), `${text}: ${JSON.stringify(validate.errors)}`);
  }
  for (const text of [
    'sever: {}',
    'server: { port: high }',
    'storage: { retention: 90 }',
    'keys: [{}]',
    'simulator: maybe',
  ]) {
    assert.ok(!validate(parse(text)), text);
  }
});

test('the file of culvert init passes the check with nothing set, and says nothing but the defaults', () => {
  const result = checkConfigText(initialConfigText(), 'culvert.yaml', {});
  assert.ok(result.ok, JSON.stringify(result));
  assert.deepEqual(result.warnings, []);
  assert.deepEqual(result.config, zeroConfig());
  assert.match(initialConfigText(), /^# yaml-language-server: \$schema=/);
});

test('the examples of the file of culvert init pass too', () => {
  const text = initialConfigText().replace(
    /^( +)# (?=openai:|claude:|local:|eu:| {2}|- \{|smart:|small:|here:|"claude)/gm,
    '$1',
  );
  const env = { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b', EU_KEY_A: 'c', EU_KEY_B: 'd', DEV_KEY: 'sk-cv-12345678' };
  const result = checkConfigText(text, 'culvert.yaml', env);
  assert.ok(result.ok, JSON.stringify(result));
  assert.deepEqual(Object.keys(result.config.providers), ['openai', 'claude', 'local', 'eu']);
  assert.deepEqual(Object.keys(result.config.models), ['smart', 'small', 'here', 'claude-*']);
  assert.equal(result.config.keys.length, 1);
});
