// Which lines of `src` serve features that issue 27's tree had, and which serve later ones (docs/decisions/0076). It asks
// `git blame` of every file, which takes some ten minutes. `--files` prints a row a file, `--new` the later features.
import { execFileSync, spawnSync } from 'node:child_process';
import { matchesGlob } from 'node:path';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: { since: { type: 'string', default: 'db4c028d0' }, files: { type: 'boolean' }, new: { type: 'boolean' } },
});
const then = options.since;

/** Features that came after that tree, by the paths of today that serve nothing else. The first row counts. */
const newFeatures = [
  [
    'guards',
    '{guards,inference/guards}/**|inference/spine/steps/{gated,filtered,held}-*|inference/spine/steps/{through-filter,refused-answer}.ts',
  ],
  [
    'guards',
    'admin/{entries/{guards,unknown-guards},guard-tests}.ts|cli/{commands,import}/{litellm-,}guards.ts|config/{guard-names,cross-check-guards,schema/schema-guards}.ts|inference/endpoints/{guard-ports,moderate}.ts',
  ],
  ['hooks', '{hooks,inference/hooks,cli/commands/hooks}/**|config/schema/schema-hooks.ts'],
  [
    'cache of answers',
    '{inference/cache,stores/cache}/**|inference/spine/answer-cache.ts|admin/cache.ts|books/metering/cache-store.ts|books/ledger/cache-sums.ts|stores/{schema/cache-sums,ledger/cache-uses}.ts|cli/import/litellm-cache.ts',
  ],
  [
    'rules and routes',
    'rules/**|config/{cross-check-routes,schema/schema-routes,data-rules,schema/schema-data}.ts|inference/models/{route-rules,ruled-names}.ts|inference/spine/{ruled,explained-rules}.ts|admin/entries/routes.ts|cli/{commands/routes,data-rule}.ts',
  ],
  [
    'prompts',
    'config/{cross-check-prompts,schema/schema-prompts}.ts|inference/models/prompt{s,ed-body}.ts|inference/spine/prompted.ts|{admin/entries,cli/commands}/prompts.ts',
  ],
  [
    'variants, shadow, rollback, replay',
    'books/metering/experiments/**|inference/spine/{shadow,varied}.ts|inference/models/rollbacks.ts|inference/endpoints/{compare-answers,comparison,text-signature}.ts|admin/usage/results.ts|stores/{ledger/experiment-book,schema/experiments}.ts|cli/commands/{results,replay}.ts',
  ],
  ['several processes', 'processes/**|main/{primary,worker,load-worker}.ts|kernel/threads/{link,remote}.ts'],
  [
    'hints of replicas, cluster',
    'routing/{health,share}-hints.ts|stores/redis/{hint-channel,servers}.ts|books/metering/{hint-channel,replicas}.ts|admin/cluster.ts',
  ],
  ['overload', 'http/overload.ts'],
  ['library', 'library/**|main/{library,create-gateway,gateway-options}.ts'],
  [
    'agents (A2A)',
    '{tools/a2a,inference/families/a2a}/**|http/routes/a2a.ts|{admin/entries,cli/commands}/agents.ts|config/schema/schema-agents.ts',
  ],
  ['MCP servers of OpenAPI', 'tools/mcp/openapi/**'],
  [
    'SAML, SCIM, invitations',
    '{books/auth/saml,books/auth/scim,http/scim}/**|http/dashboard/{saml,invitation}-sign-in.ts|books/auth/invitations.ts|{admin/entries,cli/commands/people}/invitations.ts|cli/doctor/saml.ts',
  ],
  ['tokens and guests for keys', 'books/auth/{tokens,guests}/**|config/schema/schema-callers.ts'],
  ['keys of runs', 'books/auth/run-*.ts|http/routes/ephemeral-keys.ts'],
  [
    'vector stores',
    '{inference/vector-stores,http/routes/vector-stores}/**|http/routes/vector-stores.ts|stores/vectors/{vector-store-rows,late-vector-stores}.ts|books/metering/vector-store-rows.ts|inference/families/vectors/search-files.ts',
  ],
  [
    'kept bodies, sessions',
    'inference/endpoints/{body-keeper,body-lost,recent-bodies,shown-bodies}.ts|{books/metering,stores/answers}/body-store.ts|admin/{bodies,agent-sessions}.ts|admin/entries/body-rules.ts|books/auth/body-rules.ts|cli/commands/bodies.ts|inference/families/chat/shown-conversation.ts',
  ],
  [
    'statements, credit, FOCUS, repricing',
    'admin/statements/**|cli/commands/statements.ts|stores/{ledger/statement-book,schema/statements,schema/repricing,ledger/unpriced-of-past}.ts|books/metering/{statement-book,reprice}.ts|books/ledger/repricing.ts|admin/usage/{focus,recalculate}.ts|{admin/entries,cli/commands/people}/account-credit.ts',
  ],
  ['budgets within accounts', 'books/metering/part-budgets.ts|{admin/entries,cli/commands/people}/account-budgets.ts'],
  ['limit alerts and savings', 'admin/{observed/**,troubles/limit-troubles.ts}'],
  ['secret managers', 'upstream/credentials/secret-managers/**|config/managed-secrets.ts'],
  [
    'sealed storage',
    'inference/sealed/**|inference/families/responses/sealed-*.ts|books/metering/sealed-columns.ts|stores/seal-again.ts',
  ],
  ["door of Ollama's API", 'formats/dialects/{ollama/**,embeddings/read-ollama-request.ts}|http/routes/ollama.ts'],
  [
    "door of Vercel's gateway",
    '{formats/dialects/ai-sdk,formats/media/ai-sdk,http/routes/ai-sdk}/**|formats/embeddings/read-ai-sdk-request.ts',
  ],
  ["door of Google's Interactions", 'formats/dialects/interactions/**|http/routes/google/interactions.ts'],
  [
    "door of Bedrock's API",
    'formats/dialects/bedrock-converse/{decode-messages,encode-answer,errors,event-frames,index,invoke-body,read-request,count-body,path-members}.ts|http/routes/{bedrock,aws-credentials}.ts|http/signed-{caller,request}.ts|books/auth/aws-keys.ts|formats/embeddings/read-bedrock-request.ts',
  ],
  [
    "doors of Cohere's and Azure AI's APIs",
    'formats/dialects/cohere-chat/{encode-answer,errors,index,read-request}.ts|http/routes/{cohere/**,cohere.ts,azure.ts}|formats/embeddings/read-cohere-request.ts',
  ],
  [
    "doors of Google's files, batches, caches, media",
    'http/routes/google/{batches,cached-contents,files,media,media-delivery,videos,resource-names,refuse-as-google}.ts|formats/media/gemini/**|inference/batches/{cached-contents,resumable-files}.ts',
  ],
  ["door of Anthropic's files", 'http/routes/files/anthropic-files.ts'],
  ['Responses over WebSockets', 'http/routes/responses-socket/**|inference/families/responses/connection-memory.ts'],
  [
    "callers of Gemini's Live API",
    'formats/media/realtime/live-{caller,session}.ts|inference/families/realtime/open-live.ts|inference/families/realtime/first-message.ts',
  ],
  ['HTTP/2 of callers', 'http/connections/http2-*.ts'],
  ['compaction of Responses', 'inference/families/responses/{compaction,summaries}.ts'],
  ['files included into culvert.yaml', 'config/{include,load-beside,load-orders}.ts'],
  ['logs of Helicone', 'observe/otlp/helicone-logs.ts'],
].map(([feature, paths]) => [feature, paths.split('|').map((path) => `src/${path}`)]);

/** Rooms of features that there were then: name, paths then, paths now. The first row that a path lies in counts. */
const rooms = [
  ['format: Messages', 'inference/dialects/anthropic-messages', 'formats/dialects/anthropic-messages'],
  ['format: chat completions', 'inference/dialects/openai-chat', 'formats/dialects/openai-chat'],
  ['format: Responses', 'inference/dialects/openai-responses', 'formats/dialects/openai-responses'],
  ['format: Gemini', 'inference/dialects/gemini', 'formats/dialects/gemini'],
  [
    'formats: Bedrock, Cohere',
    'inference/dialects/{bedrock-converse,cohere-chat}',
    'formats/dialects/{bedrock-converse,cohere-chat}',
  ],
  ['formats: all others', 'inference/{dialects,neutral}', 'formats/{dialects,media,neutral}'],
  ['providers', 'inference/providers', 'formats/providers'],
  ['spine', 'inference/{spine,metered}', 'inference/spine'],
  ['models', 'inference/{models,endpoints}', 'inference/{models,endpoints}'],
  [
    'conversations: chat, Responses, tools',
    'inference/{chat,responses,server-tools,passthrough}',
    'inference/{families/{chat,responses,passthrough,provider-objects},server-tools}',
  ],
  ['realtime', 'inference/realtime', 'inference/families/realtime'],
  [
    'sound, pictures, vectors of texts',
    'inference/{embeddings,forwarded,images,speech,transcription,videos}',
    'inference/families/{embeddings,forwarded,images,speech,transcription,videos}',
  ],
  ['batches and files', 'inference/batches', 'inference/batches'],
  ['engines, audio', 'inference/{engines,audio}', 'engines'],
  ['routing', 'inference/routing', 'routing'],
  ['transport, credentials', 'inference/{transport,credentials}', 'upstream'],
  [
    'web tools',
    'tools/{crawl,extract,map,render,scrape,search}',
    '{tools/{crawl,extract,map,render,scrape,search},inference/families/{pages,search}}',
  ],
  ['MCP', '{mcp,tools/mcp}', '{tools/mcp,inference/families/mcp}'],
  ['tools, shared', 'tools', 'tools'],
  ['vectors', 'vectors', '{vectors,inference/families/vectors}'],
  ['accounts and keys', 'auth', 'books/auth'],
  ['metering and ledger', '{metering,ledger}', 'books/{metering,ledger}'],
  [
    'stores: PostgreSQL, SQLite, shared',
    'stores/{postgres,sqlite}',
    'stores/{postgres,sqlite,schema,accounts,answers,ledger,vectors,web}',
  ],
  ['stores: Redis', 'stores/redis', 'stores/redis'],
  ['stores: others', 'stores', 'stores'],
  ['admin', 'admin', 'admin'],
  ['command line', 'cli', 'cli'],
  ['configuration', 'config', 'config'],
  ['HTTP', 'http', 'http'],
  ['telemetry', 'observe', 'observe'],
  ['simulator', 'simulator', 'simulator'],
  ['kernel, net', '{kernel,net}', '{kernel,net}'],
  ['composition', 'main{,.ts}', 'main{,.ts}'],
  ['rooms that came since', '-', '**'],
].map(([name, before, now]) => [name, `src/${before}{,/**}`, `src/${now}{,/**}`]);

const git = (...args) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 30 });
const sourcesOf = (commit) =>
  git('ls-tree', '-r', '--name-only', commit, 'src')
    .split('\n')
    .filter((path) => path.endsWith('.ts') && !/\.(?:test|fixture)\.ts$/.test(path));
const linesOf = (text) => text.split('\n').slice(0, -1);

/** Every source of a commit with its lines. */
function* textsOf(commit) {
  const paths = sourcesOf(commit);
  const input = paths.map((path) => `${commit}:${path}`).join('\n');
  const output = execFileSync('git', ['cat-file', '--batch'], { input, maxBuffer: 1 << 30 });
  let at = 0;
  for (const path of paths) {
    const from = output.indexOf('\n', at) + 1;
    const bytes = Number(output.toString('latin1', at, from).split(' ')[2]);
    yield [path, linesOf(output.toString('utf8', from, from + bytes))];
    at = from + bytes + 1;
  }
}

/** Commits since then that added an entry below "Added" of the changelog: what they wrote is a new feature. */
function addingCommits() {
  const commits = git('log', '--format=%H', `${then}..HEAD`, '--', 'CHANGELOG.md').trim().split('\n');
  return new Set(commits.filter(addsAnEntry));
}

function addsAnEntry(commit) {
  let heading = '';
  const headings = linesOf(git('show', `${commit}:CHANGELOG.md`)).map((line) => {
    if (line.startsWith('##')) heading = line;
    return heading;
  });
  let line = 0;
  for (const text of git('show', '-U0', '--format=', commit, '--', 'CHANGELOG.md').split('\n')) {
    const hunk = /^@@ -\S+ \+(\d+)/.exec(text);
    if (hunk) line = Number(hunk[1]) - 1;
    else if (text.startsWith('+') && !text.startsWith('+++')) {
      if (text.startsWith('+- ') && headings[line].endsWith('Added')) return true;
      line += 1;
    }
  }
  return false;
}

/** The commit of each line; null for what was there then. */
function blamed(path, count) {
  const commits = new Array(count).fill(null);
  const boundaries = new Set();
  const { stdout } = spawnSync('git', ['blame', '-w', '--incremental', `${then}..HEAD`, '--', path], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  let commit = '';
  for (const line of stdout.split('\n')) {
    const group = /^([0-9a-f]{40}) \d+ (\d+) (\d+)$/.exec(line);
    if (group) {
      commit = group[1];
      commits.fill(commit, Number(group[2]) - 1, Number(group[2]) - 1 + Number(group[3]));
    } else if (line === 'boundary') boundaries.add(commit);
  }
  return commits.map((of) => (boundaries.has(of) ? null : of));
}

const totals = new Map(rooms.map(([name]) => [name, { before: 0, kept: 0, changed: 0, added: 0 }]));
const ofNew = new Map();
const textsThen = new Set();
const roomOf = (path, column) => rooms.find((room) => matchesGlob(path, room[column]))?.[0] ?? fail(path);
const fail = (path) => {
  throw new Error(`No row of the table has ${path}`);
};

for (const [path, lines] of textsOf(then)) {
  totals.get(roomOf(path, 1)).before += lines.length;
  for (const line of lines) textsThen.add(line.trim());
}
const adding = addingCommits();
// A file that git knows under another name of then serves no new feature.
const addedFiles = new Set(git('diff', '--diff-filter=A', '-M40%', '-l20000', '--name-only', then, 'HEAD').split('\n'));
for (const [path, lines] of textsOf('HEAD')) {
  const commits = blamed(path, lines.length);
  const row = newFeatures.find(([, paths]) => paths.some((glob) => matchesGlob(path, glob)));
  const feature = addedFiles.has(path) ? row?.[0] : undefined;
  const figures = { kept: 0, changed: 0, added: 0 };
  let last = feature ? 'added' : 'changed';
  for (const [index, line] of lines.entries()) {
    const text = line.trim();
    // A line of ten characters or less stands everywhere: it goes with its commit, or with the line before it.
    if (commits[index] === null || (text.length > 10 && textsThen.has(text))) last = 'kept';
    else if (text.length > 10) last = feature || adding.has(commits[index]) ? 'added' : 'changed';
    figures[last] += 1;
  }
  const total = totals.get(roomOf(path, 2));
  for (const kind of Object.keys(figures)) total[kind] += figures[kind];
  const name = feature ?? 'lines of entries below "Added", in files of old features';
  ofNew.set(name, (ofNew.get(name) ?? 0) + figures.added);
  if (options.files) console.log([figures.kept, figures.changed, figures.added, path].join('\t'));
}

const rowOf = (name, { before, kept, changed, added }) =>
  `| ${name} | ${[before, kept + changed, changed, added].map((count) => count.toLocaleString('en')).join(' | ')} | ${before === 0 ? '' : ((kept + changed) / before).toFixed(2)} |`;
console.log(
  '| | then | now, of the same features | of which written since | of new features | now ÷ then |\n|---|---|---|---|---|---|',
);
for (const [name, figures] of totals) console.log(rowOf(name, figures));
const sum = { before: 0, kept: 0, changed: 0, added: 0 };
for (const figures of totals.values()) for (const kind of Object.keys(sum)) sum[kind] += figures[kind];
console.log(rowOf('all', sum));
if (options.new)
  for (const [name, lines] of [...ofNew].sort((a, b) => b[1] - a[1]))
    console.log(`| ${name} | ${lines.toLocaleString('en')} |`);
