import assert from 'node:assert/strict';
import test from 'node:test';
import type { JsonSchema } from './json-schema.ts';
import { inputSchema } from './json-schema.ts';
import { definitionMarks, markedMembers } from './marked-members.ts';
import { mcpUrlServerSchema } from './schema/schema-mcp.ts';
import { providerSchema } from './schema/schema-providers.ts';
import { configSchema } from './schema.ts';

/** Members that are called or described like an address, and why no credential goes where they say. */
const notAnAddress: Readonly<Record<string, string>> = {
  server: 'an object',
  'server.host': 'the address to listen on',
  'dashboard.oidc.name': 'a word on a button',
  'dashboard.saml.email_attribute': 'the name of an attribute',
  'providers.*.entra.scope': 'the audience of a token, asked for at `authority`',
  'providers.*.batches.upstream': 'whether, not where',
  'batches.upstream': 'an object',
  'callers.webhook': 'an object, whose url is marked',
  'providers.*.health.path': 'a path below base_url',
  ...Object.fromEntries(
    [
      'providers.*',
      'models.*.targets.[]',
      'models.*.variants.*.targets.[]',
      'models.*.shadow.targets.[]',
      'tools.search.providers.[]',
      'mcp.servers.*',
      'agents.*',
      'guards.*',
    ].map((place) => [`${place}.data.region`, 'where data is kept, as its operator says']),
  ),
};

const calledLikeAnAddress =
  /(^|_)(url|uri|host|hostname|endpoint|address|authority|issuer|proxy|webhook|slack|region|origin|server|domain|upstream|gateway|tls|ca)(_|$)/;
const describedLikeAnAddress = /https?:\/\/|\bURL\b|\bhost\b|\baddress\b/i;

function unmarked(): string[] {
  const marked = markedMembers(configSchema).map(({ path }) => path.join('.'));
  const found = new Set<string>();
  const look = (schema: JsonSchema, path: readonly string[]) => {
    const at = path.join('.');
    const isText = schema.type === 'string' && schema.enum === undefined && schema.kind !== 'duration';
    const looksLike =
      calledLikeAnAddress.test(path.at(-1) ?? '') || (isText && describedLikeAnAddress.test(schema.description ?? ''));
    const isMarked = marked.some((member) => at === member || at.startsWith(`${member}.`));
    if (
      looksLike &&
      !['boolean', 'integer', 'array'].includes(schema.type ?? '') &&
      !isMarked &&
      notAnAddress[at] === undefined
    )
      found.add(at);
    for (const [name, child] of Object.entries(schema.properties ?? {})) look(child, [...path, name]);
    if (schema.items !== undefined) look(schema.items, [...path, '[]']);
    for (const branch of schema.anyOf ?? []) look(branch, path);
    if (typeof schema.additionalProperties === 'object') look(schema.additionalProperties, [...path, '*']);
  };
  look(inputSchema(), []);
  return [...found];
}

test('S34 every member of the configuration that looks like an address is marked as one', () => {
  assert.deepEqual(unmarked(), [], 'give it httpUrl(), or .meta({ mark: "address" })');
});

test('S34 what decides where the credentials of providers and MCP servers go is read from their schema', () => {
  const provider = {
    type: 'openai',
    base_url: 'https://a.example',
    region: 'eu-1',
    iam_url: 'https://b.example',
    proxy: 'off',
    tls: { ca: 'x', key: 'sealed' },
    entra: { authority: 'https://c.example', client_secret: 's' },
    headers: { 'helicone-target-url': 'https://d.example', 'x-title': 'team' },
    aws: { secret_access_key: 's' },
  };
  const ofProviders = definitionMarks(providerSchema);
  const paths = (found: readonly { path: string }[]) => found.map(({ path }) => path).sort();
  assert.deepEqual(paths(ofProviders.addresses(provider)), [
    'base_url',
    'entra.authority',
    'headers.helicone-target-url',
    'iam_url',
    'proxy',
    'region',
    'tls',
    'type',
  ]);
  assert.deepEqual(paths(ofProviders.secrets(provider)), [
    'aws.secret_access_key',
    'entra.client_secret',
    'headers.helicone-target-url',
    'headers.x-title',
  ]);
  const server = { url: 'https://a.example', oauth: { issuer: 'https://b.example', client_secret: 's' } };
  assert.deepEqual(paths(definitionMarks(mcpUrlServerSchema).addresses(server)), ['oauth.issuer', 'url']);
});

test('what the store seals of a definition is every member that may hold a secret', () => {
  assert.deepEqual([...definitionMarks(providerSchema).secretMembers].sort(), [
    'api_key',
    'aws',
    'credentials',
    'entra',
    'headers',
    'proxy',
    'tls',
  ]);
  assert.deepEqual([...definitionMarks(mcpUrlServerSchema).secretMembers].sort(), ['headers', 'oauth']);
});
