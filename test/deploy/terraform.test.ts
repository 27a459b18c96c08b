import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type OpenApi, terraformSpec } from '../../scripts/docs/terraform-spec.ts';
import { startGateway } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { deploy, findProgram, programsMissing, root, runProgram } from './tools.ts';

const file = join(deploy, 'terraform', 'culvert.json');
const gateway = await startGateway({ after } as TestContext);
const openApi = (await (await gateway.fetch('/openapi.json')).json()) as OpenApi;

interface Attribute {
  name: string;
  [type: string]: unknown;
}

interface Spec {
  provider: { schema: { attributes: Attribute[] } };
  resources: { name: string; schema: { attributes: Attribute[] } }[];
}

const committed = JSON.parse(readFileSync(file, 'utf8')) as Spec;

/** The facts of an attribute at `path`, which begins with its resource. */
function factsAt(path: string): Record<string, unknown> | undefined {
  const [resource, ...names] = path.split('.');
  let attributes = committed.resources.find(({ name }) => name === resource)?.schema.attributes ?? [];
  let facts: Record<string, unknown> | undefined;
  for (const name of names) {
    const { name: _name, ...types } = attributes.find((one) => one.name === name) ?? { name };
    facts = Object.values(types)[0] as Record<string, unknown> | undefined;
    const inner = (facts?.nested_object ?? facts) as { attributes?: Attribute[] } | undefined;
    attributes = inner?.attributes ?? [];
  }
  return facts;
}

test("deploy/terraform/culvert.json is what the admin API's OpenAPI gives (npm run docs writes it)", () => {
  assert.deepEqual(committed, terraformSpec(openApi));
});

test('it has all that Terraform manages, with what is required', () => {
  const names = ['provider', 'model', 'plan', 'account', 'key', 'guard', 'prompt', 'route'];
  assert.deepEqual(
    committed.resources.map(({ name }) => name),
    names,
  );
  for (const [path, rule] of [
    ['provider.name', 'required'],
    ['provider.type', 'required'],
    ['model.targets.model', 'required'],
    ['plan.name', 'required'],
    ['plan.rpm', 'optional'],
    ['account.id', 'computed_optional'],
    ['account.status', 'optional'],
    ['key.account', 'required'],
    ['key.id', 'computed'],
    ['guard.check', 'required'],
    ['route.when', 'optional'],
    ['route.version', 'computed'],
  ] as const)
    assert.equal(factsAt(path)?.computed_optional_required, rule, path);
});

test('secrets are sensitive, and other attributes are not', () => {
  for (const path of [
    'provider.api_key',
    'provider.credentials.api_key',
    'provider.headers',
    'key.key',
    'guard.api_key',
  ])
    assert.equal(factsAt(path)?.sensitive, true, path);
  for (const path of ['provider.base_url', 'key.name', 'model.targets.model'])
    assert.equal(factsAt(path)?.sensitive, undefined, path);
  const adminKey = committed.provider.schema.attributes.find(({ name }) => name === 'admin_key');
  assert.match(JSON.stringify(adminKey), /"sensitive":true/);
});

const modules = join(root, '.test-tools', 'deploy', 'terraform');
const missing = programsMissing('tfplugingen-framework') || (findProgram('go') === null && 'Go is missing');
const skip = missing || (!existsSync(join(modules, 'go.sum')) && 'npm run setup:deploy-tools has not compiled it yet');

test("HashiCorp's generator takes it, and its Go compiles", { skip, timeout: 600_000 }, (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['go.mod', 'go.sum']) cpSync(join(modules, name), join(folder, name));
  const generated = runProgram('tfplugingen-framework', ['generate', 'all', '--input', file, '--output', folder]);
  assert.equal(generated.code, 0, generated.said);
  assert.ok(existsSync(join(folder, 'resource_model', 'model_resource_gen.go')), generated.said);
  const env = { GOFLAGS: '-mod=mod', GOPROXY: 'off', GOSUMDB: 'off' };
  const built = runProgram('go', ['build', './...'], { cwd: folder, env });
  assert.equal(built.code, 0, built.said);
});
