import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { PassThrough } from 'node:stream';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { vertexBases } from '../../src/http/routes/vertex.ts';
import { overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { scannedPayloads } from './sql-payloads.ts';
import { templateLiterals } from './template-literals.ts';

const chatPath = '/v1/chat/completions';
const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
const logged = new PassThrough();
let log = '';
logged.on('data', (chunk) => {
  log += chunk;
});

const upstream = await startUpstream();
/** Targets that an attacker would like for the request, and the provider's credential. */
const lure = await startUpstream();
after(() => Promise.all([upstream.close(), lure.close()]));
const gateway = await startGateway({ after: after as never }, overUpstreams(upstream.url), {
  log: pino({ level: 'trace' }, logged),
  pagesFolder: fileURLToPath(new URL('../pages', import.meta.url)),
});
await gateway.modelsKnown;

const asked = () => upstream.requests().filter(({ method }) => method === 'POST');
const untouched = (what: string) => assert.deepEqual(lure.requests(), [], what);
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string; code: number } }).error;

test('S1 no field of the body, query or headers moves the target or takes the credential along', async () => {
  upstream.clear();
  const host = lure.url.slice('http://'.length);
  const fields = {
    api_base: lure.url,
    base_url: lure.url,
    baseURL: lure.url,
    api_key: 'sk-lure',
    api_version: '1',
    custom_llm_provider: 'openai',
    extra_headers: { host, authorization: 'Bearer sk-lure' },
    extra_body: { base_url: lure.url },
  };
  for (const [name, value] of Object.entries(fields)) {
    for (const response of [
      await gateway.fetch(chatPath, { json: { ...hello, [name]: value } }),
      await gateway.fetch(`${chatPath}?${name}=${encodeURIComponent(String(value))}`, { json: hello }),
      await gateway.fetch(chatPath, { json: hello, headers: { [name.replaceAll('_', '-')]: `http://${host}` } }),
    ]) {
      await response.text();
      assert.equal(response.status, 200, name);
    }
    untouched(name);
  }
  for (const { path, headers, body } of asked()) {
    assert.equal(path, chatPath, 'the query stays here');
    assert.equal(headers.authorization, 'Bearer upstream-secret-1');
    assert.equal(headers.host, upstream.url.slice('http://'.length));
    for (const name of Object.keys(fields)) assert.ok(!Object.hasOwn(body as object, name), name);
    assert.ok(!JSON.stringify(headers).includes(host));
  }
});

test('S2 no header name alters the target: 200 of them, and none is passed on', async () => {
  upstream.clear();
  const stems = [
    'host',
    'url',
    'provider-url',
    'base-url',
    'api-base',
    'endpoint',
    'custom-host',
    'target',
    'origin',
    'forward',
  ];
  const owners = [
    'portkey',
    'culvert',
    'litellm',
    'openai',
    'azure',
    'anthropic',
    'gateway',
    'proxy',
    'upstream',
    'original',
    'forwarded',
    'real',
    'http',
    'rewrite',
    'backend',
    'llm',
    'ai',
    'route',
    'provider',
    'override',
  ];
  const names = owners.flatMap((owner) => stems.map((stem) => `x-${owner}-${stem}`));
  names.push('forwarded', 'via', 'x-forwarded-host', 'x-original-url', 'x-rewrite-url', 'x-http-method-override');
  assert.ok(names.length >= 200);
  for (let i = 0; i < names.length; i += 20) {
    const headers = Object.fromEntries(names.slice(i, i + 20).map((name) => [name, lure.url]));
    const response = await gateway.fetch(chatPath, { json: hello, headers });
    await response.text();
    assert.equal(response.status, 200);
  }
  untouched('headers');
  for (const { headers } of asked()) {
    assert.ok(!JSON.stringify(headers).includes(lure.url));
    for (const name of names) assert.equal(headers[name], undefined);
  }
});

/** Routes that need no key, by reason. More than five lines here is a design fault. */
const withoutKey: Record<string, readonly string[]> = {
  'a balancer has no key; they say whether it lives and which checks pass': [
    'GET /healthz',
    'GET /readyz',
    'GET /health/liveliness',
    'GET /health/liveness',
    'GET /health/readiness',
  ],
  'title, version and login servers, which clients ask first': [
    'GET /',
    'GET /v1/vectors',
    'GET /v1/vectors/',
    'GET /.well-known/oauth-protected-resource/mcp',
    'GET /.well-known/oauth-protected-resource/mcp/:server',
  ],
  'Claude Code knocks here; the answer is empty': ['HEAD /api/hello'],
  'what is served and the pages that browsers get, the same for everybody; nothing of this server is in it': [
    'GET /openapi.json',
    'GET /dashboard',
    'GET /dashboard/*',
    'GET /account',
    'GET /account/*',
    'GET /docs',
    'GET /docs/*',
  ],
  'the address is its own key: a signed link to a picture, or the `state` of a login': [
    'GET /v1/files-signed/:name',
    'GET /mcp/oauth/callback',
  ],
};
/** Answered without a key because the address holds its own proof; nobody has one here. */
const refusedOtherwise: ReadonlyMap<string, number> = new Map([
  ['GET /v1/files-signed/:name', 404],
  ['GET /mcp/oauth/callback', 400],
  // A login sends its own proof.
  ['POST /dashboard/session', 415],
  ['POST /dashboard/invitation', 415],
  ['POST /dashboard/invitation/accept', 415],
  // No directory is configured.
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method): [string, number] => [`${method} /scim/v2/*`, 404]),
  // It says that nobody is logged in.
  ['GET /dashboard/session', 200],
  // There is no page x.
  ['GET /docs/*', 404],
  // Nothing of the kind is configured.
  ['GET /.well-known/oauth-protected-resource/mcp', 404],
  ['GET /.well-known/oauth-protected-resource/mcp/:server', 404],
  ['GET /dashboard/oidc/start', 404],
  ['GET /dashboard/oidc/callback', 404],
  ['GET /dashboard/saml/start', 404],
  ['GET /dashboard/saml/metadata', 404],
  ['POST /dashboard/saml/acs', 404],
]);

/** Counting tokens, rating an answer and looking at a model or a video cost nothing (design §6); a message of MCP what the call that it makes does, which is admitted so. */
const freePosts = [
  ...['/v1/messages/count_tokens', '/v1/responses/input_tokens', '/v1/requests/:id/feedback'],
  ...['/mcp', '/mcp/:server', '/api/show', '/model/:modelId/count-tokens', '/v4/ai/video-model/status'],
  ...vertexBases('anthropic').map((base) => `${base}/models/count-tokens::rawPredict`),
];

test('S3 every route has auth and quota, and a name where it takes a body, unless it is on a list of at most five lines', async () => {
  assert.ok(Object.keys(withoutKey).length <= 5);
  const open = gateway.routes.filter(({ auth }) => auth === 'none').map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(open.sort(), Object.values(withoutKey).flat().sort());
  for (const { method, path, auth, quota, endpoint } of gateway.routes) {
    const route = `${method} ${path}`;
    if (path.startsWith('/v1/') && auth !== 'none') {
      assert.equal(auth, 'key', route);
      assert.notEqual(quota, 'none', route);
    }
    if (method === 'POST' || method === 'PUT' || method === 'PATCH') {
      assert.notEqual(endpoint, undefined, `${route} takes a body, whose endpoint is told of when it is refused`);
      if (!freePosts.includes(path)) assert.notEqual(quota, 'free', `${route} costs something`);
    }
    if (auth === 'none') assert.equal(method === 'POST', false, route);
  }
});

test('S3 what the table says is so: no route of it answers without a key', async () => {
  for (const { method, path, auth } of gateway.routes) {
    const url = gateway.url + path.replace('*', 'x').replace(':id', 'x');
    const response = await fetch(url, { method });
    await response.text();
    const expected = refusedOtherwise.get(`${method} ${path}`) ?? (auth === 'none' ? 200 : 401);
    assert.equal(response.status, expected, `${method} ${path}`);
  }
});

test('S4 1000 SQL payloads as keys: 401 with one constant body on every route, and the store as it was', async () => {
  upstream.clear();
  const bodies = new Set<string>();
  const payloads = scannedPayloads(1_000);
  assert.equal(new Set(payloads).size, 1_000);
  const paths = ['/v1/models', chatPath, '/v1/requests/x', '/metrics'];
  for (let i = 0; i < payloads.length; i += 25) {
    await Promise.all(
      payloads.slice(i, i + 25).map(async (payload, at) => {
        const name = ['authorization', 'x-api-key', 'api-key'][(i + at) % 3]!;
        const path = paths[(i + at) % paths.length]!;
        const headers = { [name]: name === 'authorization' ? `Bearer ${payload}` : payload };
        const response = await fetch(gateway.url + path, { method: path === chatPath ? 'POST' : 'GET', headers });
        assert.equal(response.status, 401, payload);
        const { error } = (await response.json()) as { error: Record<string, unknown> };
        bodies.add(JSON.stringify({ ...error, request_id: '' }));
      }),
    );
  }
  assert.equal(bodies.size, 1);
  assert.equal((await gateway.fetch('/v1/models')).status, 200);
  assert.deepEqual(asked(), []);
});

/**
 * Each was checked: names of tables and columns of our schema, picked by a table of ours and never by a caller's word
 * (a backup that names others is refused), numbers that were counted here, and fixed conditions with placeholders.
 */
const ofTheSchema: Readonly<Record<string, readonly string[]>> = {
  'src/stores/accounts/account-store.ts': ['auditConditions', 'lastOfKey', 'place', 'prefix', 'text'],
  'src/stores/accounts/account-steps.ts': [
    'cells',
    'conditionOf(where, values)',
    'names',
    'places',
    'table',
    'this.#prefix',
  ],
  'src/stores/accounts/load-accounts.ts': ['condition', 'order(byBytes)', 'prefix', 'table'],
  'src/stores/answers/alert-store.ts': ['alert'],
  'src/stores/answers/batch-store.ts': [
    'prefix',
    'batch',
    'batchColumns',
    'behind',
    'chunk',
    'columns',
    'file',
    'free',
    'held',
    'line',
    'order',
    'ours',
    'place(listed.format)',
    'purposes',
    'skipLocked',
    'newShape.columns',
  ],
  'src/stores/row-shape.ts': ['columns', 'insert(table)', 'key', 'places', 'replaced', 'table'],
  'src/stores/web/crawl-store.ts': [
    'crawl',
    'endless',
    'forUpdate',
    'free',
    'fresh',
    'links',
    'given',
    'hook',
    'next',
    'key',
    "oneOf('c.tenant', '$3')",
    "oneOf('crawl', '$1')",
    "oneOf('h.id', '$1')",
    'open',
    'page',
    'pages.key',
    "pages.value('$2')",
    'places',
    'prefix',
    'running',
    'shape',
    'skipLocked',
    "value('$2')",
    "value('(value ->> 0)')",
    "value('(value ->> 3)')",
  ],
  'src/stores/ledger/cache-uses.ts': [
    'schema',
    "conditions(query, marks, 'hour', from, to)",
    "names.join(', ')",
    'rows',
    "shares.map(([name]) => name).join(', ')",
    "sums.join(', ')",
    'usesPromptCache',
    'isCounted',
    "conditions(query, marks, 'at_ms', startMs, endMs)",
    "shares.map(([, share]) => ``).join(', ')",
    'share',
    "names.map((name) => ``).join(', ')",
    'shares[name]',
    'name',
  ],
  'src/stores/ledger/ledger-filters.ts': [
    "[...refused, ...before].join(' AND ')",
    'hour',
    'newest',
    "ran.join(' AND ')",
    'schema',
  ],
  'src/stores/ledger/experiment-book.ts': ['by', 'last', 'next', 'ofOne', 'ofTime', 'ofFeedback', 'table', 'who'],
  'src/stores/ledger/statement-book.ts': ['closedShape.columns', 'table'],
  'src/stores/postgres/schema.ts': ['each', 'names', 'table', 'triggers'],
  'src/stores/sqlite/culvert-schema.ts': ['before', 'event', 'id', 'kind', 'kinds', 'table'],
  'src/stores/ledger/ledger-sums.ts': ['schema', "where.join(' AND ')"],
  'src/stores/ledger/unpriced-of-past.ts': [
    '24 * hourMs',
    "columns.map((_, at) => at + 1).join(', ')",
    'counts',
    "filled.map((one) => fillSql(schema, one)).join('\\n')",
    'ours',
    'past',
    'provider',
    'same',
    'schema',
    'source',
    'table',
    'unpricedSql',
    "tables.map((table) => ``).join('\\n')",
    'whole',
  ],
  'src/stores/ledger/day-sums.ts': [
    'rows',
    'named',
    'within',
    'id',
    'marks',
    'which',
    'one',
    'other',
    'known',
    'firstSumColumns(whole)',
    "firstSums.join(', ')",
    '(day + 1) * 24',
    'Math.floor(untilMs / hourMs)',
    'after',
    "columns.join(', ')",
    'day',
    'day * 24',
    'day + 1',
    'days',
    'eventSums',
    'hours.from',
    'hours.to',
    'keys',
    'schema',
    "signed('')",
    "signed('-')",
    'summed',
    'table.name',
    'table.of',
    'times.from',
    'times.to',
    'wide',
    "sums.map((name) => ``).join(' OR ')",
    'name',
  ],
  'src/stores/accounts/mcp-grant-store.ts': ['grant', 'login'],
  'src/stores/answers/notice-store.ts': [
    'after',
    'crossing',
    'due',
    'ended',
    'following',
    'notice',
    'noticeHistory.rowsMax',
    'others',
    'noticeShape.columns',
    'prefix',
  ],
  'src/stores/postgres/backup.ts': ['any', 'name', 'order', 'table'],
  'src/stores/redis/lua-ahead.ts': ['aheadOf'],
  'src/stores/postgres/boots.ts': ['buryBoot', 'column'],
  'src/stores/ledger/request-pages.ts': [
    'few',
    "['true', ...conditions].join(' AND ')",
    'column',
    'marks.of(0)',
    'table',
  ],
  'src/stores/web/page-reads.ts': ['pageShape.columns', 'place.column', 'prefix'],
  'src/stores/postgres/ledger-upkeep.ts': [
    'days.columnsOfDays(days.dayTable)',
    "days.daySql('culvert.', bounds)",
    "days.nameSql('culvert.', bounds, ids)",
    "days.ofNameHoursSql(table, 'hours')",
    'days.columnsOfDays(days.nameTable)',
    'days.columnsOfDays(table)',
    "days.partSql('culvert.', table, '$1')",
    'prunedAtOnce',
    'table',
    'table.name',
  ],
  'src/stores/postgres/ledger-writer.ts': [
    'changedColumns.length + 2',
    'givenArrays',
    'givenColumns',
    'setColumns',
    'added',
    'arrays',
    'names',
    'onConflict',
    'table',
    "key.map(({ name }) => ``).join(', ')",
    'name',
  ],
  'src/stores/postgres/ledger.ts': ['isOver'],
  'src/stores/postgres/page-store.ts': [
    'pageShape.columns',
    "columns.map((_, at) => ``).join(', ')",
    'at + 2',
    "[...columns, 'words'].map((name) => ``).join(', ')",
    'name',
  ],
  'src/stores/accounts/provider-object-store.ts': [
    'object',
    "oneOf('id_hash', '$1')",
    "places.join(', ')",
    'prefix',
    'removedAtOnce',
    'where',
    'columns',
  ],
  'src/stores/answers/picture-sizes.ts': ['picture'],
  'src/stores/answers/reply-store.ts': ['bootIsOver', 'ofRequest', 'reply', 'sweptAtOnce'],
  'src/stores/answers/response-store.ts': [
    'added',
    'and',
    'behind',
    'conversation',
    'ends',
    'found',
    'item',
    'itemsSweptAtOnce',
    'key',
    'last(item)',
    'last(place)',
    'old(conversation)',
    'old(conversation, hasNone(place) + hasNone(item))',
    'old(response)',
    'one',
    'order',
    'place',
    "placeOf(names, '$3')",
    'placeholder',
    'response',
    'seqIn(item)',
    'seqIn(place)',
    'sweptAtOnce',
    'table',
    'which',
    'insert(response)',
    'conversationShape.columns',
  ],
  'src/stores/schema/crawls.ts': ['key', 'keyName', 'shape', 'shapeName'],
  'src/stores/schema/ledger.ts': [
    'provider',
    "sumOf('tokens', 'counted')",
    "sumOf('tokens', 'estimated')",
    "sumOf('usd_nano', 'counted')",
    "sumOf('usd_nano', 'estimated')",
  ],
  'src/stores/accounts/session-store.ts': ['assertion', 'session', 'surplus', 'token'],
  'src/stores/sqlite/backup.ts': ['list', 'marks', 'name', 'order', 'table', 'taken'],
  'src/stores/sqlite/sqlite-facts.ts': ['any', 'name'],
  'src/stores/sqlite/ledger-reader.ts': ['batchRows'],
  'src/stores/sqlite/ledger-upkeep.ts': [
    'oldest',
    'prunedAtOnce',
    "changedColumns.map(({ name }) => ``).join(', ')",
    'name',
  ],
  'src/stores/sqlite/ledger-usage.ts': [
    'columns',
    "marks.join(', ')",
    'table.name',
    'added',
    'day',
    'name',
    'rows',
    'rowsOf(marks)',
    'sliceRows',
    "sums.join(', ')",
    'table',
    'usageSums',
  ],
  'src/stores/sqlite/ledger-writer.ts': ['added', 'marks(columns.length)', 'names', 'table'],
  'src/stores/sqlite/tables.ts': ['column', 'place'],
  'src/stores/leased-rows.ts': ['free', 'open', 'table', 'which'],
  'src/stores/storage-sizes.ts': ['prefix'],
  'src/stores/seal-again.ts': [
    'limit',
    'passedAtOnce - 1',
    'within',
    'beyond',
    'column',
    'columns',
    'keys',
    'prefix',
    'same',
    'table',
  ],
  'src/stores/ledger/traffic-of-past.ts': [
    "counts.join(', ')",
    'kind',
    'name',
    'schema',
    "counts.map((count) => ``).join(', ')",
    'count',
    "name === \"''\" ? '' : ``",
  ],
  'src/stores/ledger/largest-parts.ts': [
    'count',
    'few',
    'usage.measureColumns[by]',
    "marks.oneOf('split', names)",
    'rows',
    'usage.signedSums',
    'sumList',
    'totals',
  ],
  'src/stores/ledger/usage-sql.ts': [
    'by',
    "dayOr('name')",
    "dayOr('split')",
    'name',
    'rows',
    'schema',
    'signedSums',
    'measureColumns[orderBy]',
    'source',
    'split',
    'sums',
    'usageSums',
    "where.join(' AND ')",
    "sumsAs('DOUBLE PRECISION')",
  ],
  'src/stores/answers/body-store.ts': [
    'body',
    'columns',
    'condition',
    'conditionOf(tables, which, slice, values)',
    'prefix',
    'signature',
    'sweptAtOnce',
    'tables.prefix',
  ],
  'src/stores/vectors/vector-registry.ts': [
    'alias',
    'collection',
    'deletion',
    'due',
    'forUpdate',
    'index',
    'joined',
    'prefix',
    'skipLocked',
  ],
  'src/stores/sqlite/page-store.ts': ['ageIndexes', 'contentColumns'],
  'src/stores/vectors/vector-store-rows.ts': [
    'as',
    'batch',
    'file',
    'fileColumns',
    "following('')",
    'following(behind)',
    'free',
    'inBatch',
    'kind',
    "oneOf('file', '$2')",
    "oneOf(kind, '$1')",
    'open',
    'place',
    'store',
    'storeColumns',
    'table',
    'where',
    'batchColumns',
  ],
};

test('S4 no SQL text is built from input: statements of the stores hold no interpolated values', () => {
  // Placeholders, and numbers and words of our own: nothing that came from anywhere.
  const harmless = [
    /^marks\(\d+\)$/,
    /^migration\.version$/,
    /^Number\.MAX_SAFE_INTEGER$/,
    /^synchronous\[durability\]$/,
    /^\w+(Ms|Bytes|Max)( \* \d+)?$/,
  ];
  const statementWord = /\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA|select|insert|update|delete from|pragma)\b/;
  for (const file of globSync('src/stores/**/*.ts').filter((name) => !name.endsWith('.test.ts'))) {
    for (const { text, inserted } of templateLiterals(readFileSync(file, 'utf8'))) {
      if (!statementWord.test(text)) continue;
      for (const code of inserted)
        assert.ok(
          harmless.some((rule) => rule.test(code)) || ofTheSchema[file]?.includes(code),
          `${file}: ${code} in ${text.slice(0, 120)}`,
        );
    }
  }
});

/** Asks V8 for its collector, by a script of one fixed word. */
const runsOneWord = 'src/net/spool.ts';

/** Makes functions of the names of our own columns, once, when it is loaded. */
const compilesColumns = 'src/books/ledger/columns.ts';

/** Programs that are named in code, without a shell; of a caller's they get bytes on stdin or a file of our own naming. */
const startsPrograms = [
  'src/engines/audio/ffmpeg-process.ts',
  'src/engines/audio/transcode.ts',
  'src/engines/engine-run.ts',
  'src/engines/espeak.ts',
  'src/engines/extras/install-runtime.ts',
  // MCP servers that the configuration file names, and it alone.
  'src/tools/mcp/stdio-session.ts',
  // The operator's own login by Azure's command line.
  'src/upstream/credentials/entra.ts',
];

test('S5 no endpoint can start a program that its caller chooses: few files know child_process, none a shell', () => {
  const found = globSync('src/**/*.ts')
    .filter(
      (file) =>
        !file.startsWith('src/cli/') && !file.endsWith('.test.ts') && ![runsOneWord, compilesColumns].includes(file),
    )
    .filter((file) => /child_process|client\/stdio|\beval\(|new Function\(|node:vm/.test(readFileSync(file, 'utf8')));
  assert.deepEqual(found.sort(), startsPrograms);
  for (const file of found) {
    assert.doesNotMatch(readFileSync(file, 'utf8'), /shell:|\bexec(Sync)?\(|\beval\(|new Function\(|node:vm/, file);
  }
  const made = readFileSync(compilesColumns, 'utf8').match(/new Function\([^`]*/g);
  assert.deepEqual(made, ['new Function(...names, ']);
  assert.deepEqual(readFileSync(runsOneWord, 'utf8').match(/run\w+\(.*?\)/g), ["runInNewContext('gc')"]);
});

for (const expect of [{}, { expect: '100-continue' }] as Record<string, string>[]) {
  test(`S8 without a key nothing of a huge body is read, and no upstream is asked ${JSON.stringify(expect)}`, async () => {
    upstream.clear();
    const answer = await new Promise<{ status: number; sent: number; continued: boolean; connection: unknown }>(
      (resolve, reject) => {
        let sent = 0;
        let continued = false;
        const call = request(gateway.url + chatPath, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-length': String(30 * 1024 * 1024), ...expect },
        });
        call.on('continue', () => {
          continued = true;
        });
        call.on('response', (response) => {
          response.resume();
          resolve({ status: response.statusCode ?? 0, sent, continued, connection: response.headers.connection });
          call.destroy();
        });
        call.on('error', reject);
        if (expect.expect === undefined) {
          const chunk = Buffer.alloc(64 * 1024, '[');
          const more = (): void => {
            sent += chunk.length;
            if (sent < 30 * 1024 * 1024 && !call.destroyed) call.write(chunk, () => setImmediate(more));
          };
          more();
        } else call.flushHeaders();
      },
    );
    assert.equal(answer.status, 401);
    assert.equal(answer.continued, false);
    assert.equal(answer.connection, 'close', 'the rest is not drained either');
    assert.ok(answer.sent < 4 * 1024 * 1024, `${answer.sent} bytes were taken`);
    assert.deepEqual(asked(), []);
  });
}

const canaries = Array.from({ length: 20 }, (_, i) => `canary-${i}-5f1d9c${i}e7a`);
const headerCanary = 'canary-header-77aa31';
const trace = canaries.map((canary) => `at fetch (Bearer ${canary})`).join(' ');
const leaks = [
  'echo-auth',
  'echo-auth;status=400',
  'echo-auth;status=500',
  'echo-auth;status=403',
  `status=400;message=Error ${trace} x-tenant-secret ${headerCanary} at UPSTREAM/v1`,
  `status=500;message=${trace} at UPSTREAM/v1`,
  `error=1;message=${trace} at UPSTREAM/v1`,
];
for (const leak of leaks) {
  test(`S19 an upstream gives no secret away to callers or the log: ${leak.slice(0, 40)}`, async (t) => {
    const echoing = await startUpstream();
    t.after(() => echoing.close());
    const up = {
      type: 'openai',
      base_url: `${echoing.url}/v1`,
      credentials: canaries.map((api_key) => ({ api_key })),
      headers: { 'x-tenant-secret': headerCanary },
    };
    for (const stream of [false, true]) {
      const secretive = await startGateway(
        t,
        { providers: { up }, models: { chat: { targets: ['up/mock/ok'] } } },
        { log: pino({ level: 'trace' }, logged) },
      );
      log = '';
      echoing.script(chatPath, [`always ${leak.replace('UPSTREAM', echoing.url)}`]);
      const response = await secretive.fetch(chatPath, { json: { ...hello, stream } });
      let said = `${[...response.headers]}${await response.text()}`;
      assert.match(said, /up: |"error"/, 'the failure is told');
      const record = await secretive.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
      said += await record.text();
      assert.ok(log.includes('"msg":"request"'), 'the log was written');
      for (const secret of [...canaries, headerCanary, testKey]) {
        assert.ok(!said.includes(secret), `answers: ${secret}`);
        assert.ok(!log.includes(secret), `log: ${secret}`);
      }
      assert.ok(!said.includes(echoing.url.slice('http://'.length)), "the upstream's address");
    }
  });
}

test('S23 CR and LF in model, user and ids never reach an upstream header, an answer header or a log line raw', async () => {
  upstream.clear();
  log = '';
  const evil = 'x\r\nx-injected: yes\r\n\r\nHTTP/1.1 200 OK';
  for (const fields of [
    { user: evil },
    { model: evil },
    { metadata: { a: evil } },
    { safety_identifier: evil },
    { prompt_cache_key: evil },
  ]) {
    const response = await gateway.fetch(chatPath, { json: { ...hello, ...fields } });
    assert.ok(!(await response.text()).includes('\r\n'));
    assert.equal(response.headers.get('x-injected'), null);
  }
  const odd = await gateway.fetch(`/v1/models/${encodeURIComponent(evil)}`);
  assert.equal(odd.status, 404);
  assert.equal(odd.headers.get('x-injected'), null);
  for (const { headers } of asked()) {
    assert.equal(headers['x-injected'], undefined);
    assert.ok(!JSON.stringify(headers).includes('injected'));
  }
  for (const line of log.trim().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line);
  assert.ok(log.includes('"user"'));
  const users = log
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { user?: string }).user ?? '');
  for (const user of users) assert.doesNotMatch(user, /[\r\n]/);
});

test('S23 a model name that a pattern lets through to the upstream is data there, and safe in our headers', async (t) => {
  const open = await startGateway(t, { ...overUpstreams(upstream.url), models: { 'any-*': { targets: ['up1/*'] } } });
  for (const name of ['any-x\r\nx-injected: yes', 'any-\u00fc', 'any-../../admin', 'any-?a=b#c', 'any-👋']) {
    upstream.clear();
    const response = await open.fetch(chatPath, { json: { ...hello, model: name } });
    await response.text();
    assert.equal(response.status, 200, name);
    assert.equal(response.headers.get('x-injected'), null);
    const sent = asked()[0]!;
    assert.equal(sent.path, chatPath);
    assert.equal((sent.body as { model: string }).model, name.slice('any-'.length));
  }
});

test('errors of every kind carry the code and a message, never a stack', async () => {
  for (const response of [await gateway.fetch('/v1/none'), await gateway.fetch(chatPath, { json: { model: 5 } })]) {
    const { message, code } = await errorOf(response);
    assert.equal(code, response.status);
    assert.doesNotMatch(message, /\bat \w+ \(|node:|\/src\//);
  }
});
