import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { wholeRequests } from './whole-requests.ts';

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
}
interface Operation {
  summary?: string;
  parameters?: { name: string; in: string }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: object;
}

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway({ after: after as never }, overUpstreams(upstream.url));
const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document;

function schemaOf(method: string, path: string): Schema {
  const content = document.paths[path]?.[method]?.requestBody?.content;
  assert.ok(content !== undefined, `${method} ${path} has no body`);
  return Object.values(content)[0]!.schema;
}

test('/openapi.json is a valid OpenAPI 3.1 document, and each of its schemas a valid JSON Schema', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
  assert.deepEqual([valid, errors], [true, undefined]);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const methods of Object.values(document.paths)) {
    for (const { requestBody } of Object.values(methods)) {
      for (const { schema } of Object.values(requestBody?.content ?? {})) {
        ajv.compile({ ...schema, components: document.components });
      }
    }
  }
});

test('every operation says what it does', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { summary = '' }] of Object.entries(methods)) assert.notEqual(summary, '', `${method} ${path}`);
  }
});

test('requests that use most of what each format has are as their schemas say', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  let checked = 0;
  for (const { path, body } of wholeRequests) {
    const described = path.startsWith('/v1beta/') ? '/v1beta/models/{id}' : path.split('?')[0]!;
    const check = ajv.compile(schemaOf('post', described));
    assert.ok(check(body), `${path}: ${ajv.errorsText(check.errors)}`);
    checked += 1;
  }
  assert.ok(checked > 5);
});

const listed: Record<string, readonly [required: readonly string[], fields: readonly string[]]> = {
  '/v1/chat/completions': [
    ['model', 'messages'],
    ['temperature', 'tools', 'stream', 'response_format', 'metadata'],
  ],
  '/v1/messages': [
    ['model', 'messages', 'max_tokens'],
    ['system', 'tools', 'thinking'],
  ],
  '/v1/messages/count_tokens': [['model', 'messages'], ['tools']],
  '/v1/responses': [['model'], ['input', 'instructions', 'tools', 'reasoning']],
  '/v1beta/models/{id}': [[], ['contents', 'generationConfig', 'tools']],
  '/v1/completions': [['model'], ['prompt', 'stream', 'max_tokens']],
  '/v1/embeddings': [
    ['model', 'input'],
    ['dimensions', 'encoding_format'],
  ],
  '/v1/audio/speech': [
    ['model', 'input', 'voice'],
    ['speed', 'response_format'],
  ],
  '/v1/audio/transcriptions': [
    ['model', 'file'],
    ['language', 'timestamp_granularities'],
  ],
  '/v1/images/generations': [
    ['model', 'prompt'],
    ['n', 'size', 'quality'],
  ],
  '/v1/images/edits': [
    ['model', 'image', 'prompt'],
    ['mask', 'input_fidelity'],
  ],
  '/v1/rerank': [['model'], ['query', 'documents', 'top_n']],
  '/v1/moderations': [[], ['model', 'input']],
  '/v1/tools/scrape': [['url'], ['formats', 'onlyMainContent', 'maxAge']],
  '/v1/tools/search': [['query'], ['limit', 'includeDomains', 'scrapeOptions']],
  '/v1/tools/map': [['url'], ['limit', 'sitemap']],
  '/v1/tools/crawl': [['url'], ['limit', 'scrapeOptions', 'webhook']],
  '/v1/tools/batch/scrape': [['urls'], ['maxConcurrency']],
  '/v1/vectors/collections': [['name'], ['vector_size', 'distance']],
  '/v1/vectors/collections/{collection}/points/search': [[], ['vector', 'text', 'filter', 'limit']],
};

for (const [path, [required, fields]] of Object.entries(listed)) {
  test(`POST ${path} lists its fields, and those that must be there`, () => {
    const { properties = {}, ...schema } = schemaOf('post', path);
    assert.equal(schema.type, 'object');
    assert.deepEqual([...(schema.required ?? [])].sort(), [...required].sort());
    for (const name of [...required, ...fields]) assert.ok(name in properties, `${name} of ${path}`);
  });
}

test("every body of /v1 has fields, but for what is not supported, and Firecrawl's first API", () => {
  const firecrawlV1 = /^\/v1\/(tools\/v1\/)?(scrape|search|map|crawl|batch\/scrape)$/;
  const without = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody, summary }]) => {
      if (summary?.startsWith('Not supported') === true || firecrawlV1.test(path)) return [];
      const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
      return path.startsWith('/v1') && schema !== undefined && schema.properties === undefined
        ? [`${method} ${path}`]
        : [];
    }),
  );
  assert.deepEqual(without, []);
});

test('POST /v1/images/edits describes the JSON body beside the form', () => {
  const { content } = document.paths['/v1/images/edits']!.post!.requestBody!;
  assert.deepEqual(Object.keys(content), ['multipart/form-data', 'application/json']);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const check = ajv.compile(content['application/json']!.schema);
  const body = { model: 'gpt-image-1', prompt: 'a cat', n: 1, size: '1024x1024' };
  const url = { image_url: 'data:image/png;base64,AAAA' };
  assert.ok(check({ ...body, images: [url, { file_id: 'file_1' }], mask: url }), ajv.errorsText(check.errors));
  for (const images of [undefined, [], [{}], [{ ...url, file_id: 'file_1' }], 'x']) {
    assert.equal(check({ ...body, images }), false, JSON.stringify(images));
  }
});

test("files say which header asks for Anthropic's format, and what its upload needs", () => {
  for (const [path, method] of [
    ['/v1/files', 'get'],
    ['/v1/files', 'post'],
    ['/v1/files/{id}', 'get'],
    ['/v1/files/{id}', 'delete'],
    ['/v1/files/{id}/content', 'get'],
  ] as const) {
    const { parameters = [] } = document.paths[path]![method]!;
    assert.ok(
      parameters.some(({ name, in: place }) => name === 'anthropic-version' && place === 'header'),
      path,
    );
  }
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const check = ajv.compile(schemaOf('post', '/v1/files'));
  assert.ok(check({ file: '', purpose: 'batch' }));
  assert.ok(check({ file: '', expires_in_seconds: 3_600 }));
  assert.equal(check({ file: '', expires_in_seconds: 60 }), false);
  assert.equal(check({ purpose: 'batch' }), false);
});

/** Members of a schema that bound values, or say what is there without one. */
const bounds = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'minProperties', 'maxProperties', 'pattern', 'default', 'required', 'deprecated'],
]);

/** A line for each schema within one that has bounds: its place, and them. */
function boundsIn(schema: unknown, place: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap((one, at) => boundsIn(one, `${place}|${at}`));
  const own = Object.entries(schema).filter(([name, value]) => bounds.has(name) && value !== undefined);
  const line = own.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(', ');
  const { properties = {}, items, ...rest } = schema as Record<string, unknown>;
  return [
    ...(own.length === 0 ? [] : [`${place}: ${line}`]),
    ...Object.entries(properties as object).flatMap(([name, one]) => boundsIn(one, `${place}.${name}`)),
    ...boundsIn(items, `${place}[]`),
    ...['anyOf', 'oneOf', 'allOf', 'additionalProperties', 'prefixItems', 'schema', 'then', 'else', 'not'].flatMap(
      (name) => boundsIn(rest[name], name === 'schema' ? place : `${place}/${name}`),
    ),
  ];
}

/* A bound that tightens breaks callers, and no other test asks each field at its edge. */
test('the bounds of requests are those that callers know', () => {
  /** Operations by the bounds that they share. */
  const sharing = new Map<string, string[]>();
  const note = (name: string, lines: readonly string[]) => {
    const text = lines.map((line) => `  ${line}\n`).join('');
    if (text !== '') sharing.set(text, [...(sharing.get(text) ?? []), name]);
  };
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { parameters = [], requestBody }] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path}`;
      for (const { schema } of Object.values(requestBody?.content ?? {})) note(name, boundsIn(schema, ''));
      const named = parameters.filter((one) => one.in !== 'path');
      note(
        name,
        named.flatMap((one) => boundsIn({ ...one, required: undefined }, `?${one.name}`)),
      );
    }
  }
  const text = [...sharing].map(([lines, names]) => `${names.join('\n')}\n${lines}`).join('\n');
  const file = new URL('openapi-bounds.txt', import.meta.url);
  if (process.env.CULVERT_WRITE_EXPECTED === '1') writeFileSync(file, text);
  const known = readFileSync(file, 'utf8').split('\n\n');
  const found = text.split('\n\n');
  const differing = [known.filter((one) => !found.includes(one)), found.filter((one) => !known.includes(one))];
  assert.deepEqual(differing, [[], []], 'CULVERT_WRITE_EXPECTED=1 writes bounds that change on purpose');
});
