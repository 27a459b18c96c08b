import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import type { CliParts } from '../../src/cli/parts.ts';
import { createProgram } from '../../src/cli/program.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { formatProblem } from '../../src/config/problem.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { type Answer, article, startAwkwardSite } from '../tools/awkward-site.ts';
import { until } from '../until.ts';
import { pages, root, type Snippet, snippetsOf } from './snippets.ts';

/*
 * Every snippet of the pages that users read is run as it stands, with CULVERT_URL, CULVERT_API_KEY and CULVERT_ADMIN_KEY
 * set: sh, js, python; yaml is checked, json read. One that cannot run has `<!-- not run: why -->` above it, and its
 * commands are checked by name and options all the same. The site example.org is one of this machine.
 */

const file = { after: after as TestContext['after'] };
const upstream = await startUpstream();
after(() => upstream.close());
const page: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(article);
};
const site = await startAwkwardSite(file, { '/': page, '/docs': page, '/kettle': page, '/a': page, '/b': page });
const keyOf = (name: string) => `sk-cv-docs-${pages.indexOf(name)}-0001`;
const shared = {
  fetch: { allow_private: [site.place] },
  tools: { crawl: { delay: '0ms' } },
  accounts: { dev: {} },
  // Each page has data of its own.
  keys: pages.map((name, at) => ({ key: keyOf(name), account: `page-${at}`, name: 'docs' })),
};
/** Readers of these pages have just started it; those of the others have configured what these speak of. */
const firstPages = ['README.md', 'docs/start.md'];
const newcomers = await startGateway(file, shared);
const gateway = await startGateway(file, {
  ...shared,
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
  models: {
    smart: { targets: ['up/mock/ok'] },
    embed: { type: 'embedding', targets: ['up/mock/ok'] },
    pictures: { type: 'image', targets: ['up/mock/ok'] },
    rerank: { type: 'rerank', targets: ['up/mock/ok'] },
  },
});
await gateway.modelsKnown;

const speak = () =>
  gateway.fetch('/v1/audio/speech', {
    json: { model: 'tts-1', voice: 'alloy', input: 'A talk.' },
    headers: { authorization: `Bearer ${keyOf('README.md')}` },
  });
let spoken = await speak();
await until('a talk is spoken, also where a busy machine refuses the first wish', async () => {
  if (spoken.status === 503) spoken = await speak();
  return spoken.status !== 503;
});
assert.equal(spoken.status, 200);
const talk = Buffer.from(await spoken.arrayBuffer());

const temporary = mkdtempSync(join(tmpdir(), 'culvert-docs-'));
after(() => rmSync(temporary, { recursive: true, force: true }));
const curl = spawnSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).stdout.trim();
// An error status is an error here, but for a busy machine's: it says when to come again.
writeFileSync(join(temporary, 'curl'), `#!/bin/sh\nexec ${curl} --fail-with-body --retry 2 -sS "$@"\n`, {
  mode: 0o755,
});

/** For one that hangs: on a busy machine some take a minute. */
const programMs = 240_000;
const env = {
  PATH: [temporary, join(root, 'test/bin'), join(root, 'node_modules/.bin'), process.env.PATH].join(':'),
  HOME: temporary,
  NODE_NO_WARNINGS: '1',
  NO_PROXY: '*',
  PYTHONPATH: join(root, '.test-tools/python'),
  PYTHONDONTWRITEBYTECODE: '1',
  CULVERT_ADMIN_KEY: adminKey,
};

async function runs(program: string, input: string, { page }: Snippet, cwd: string): Promise<void> {
  const { url } = firstPages.includes(page) ? newcomers : gateway;
  const options = { cwd, env: { ...env, CULVERT_URL: url, CULVERT_API_KEY: keyOf(page) }, timeout: programMs };
  const running = promisify(execFile)(program, program === 'node' ? ['--input-type=module', '-'] : ['-'], options);
  running.child.stdin!.end(input);
  await running;
}

const here = (text: string) => text.replaceAll('https://example.org', site.url);

/** Placeholders that the reader fills in are set here already. */
const script = (text: string) => `set -e\n${here(text).replace(/^export CULVERT_\w+=.*$/gm, '')}`;

const languages: Readonly<Record<string, (snippet: Snippet, folder: string) => Promise<void> | void>> = {
  sh: (snippet, folder) => runs('sh', script(snippet.text), snippet, folder),
  // Packages are those of the repository.
  js: (snippet) => runs('node', here(snippet.text), snippet, root),
  python: (snippet, folder) => runs('python3', here(snippet.text), snippet, folder),
  yaml({ text, page }) {
    const named = [...text.matchAll(/(?:provider: |targets: \[)([\w-]+)/g)].map(([, name]) => name!);
    const variables = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);
    const values = Object.fromEntries(variables.map((name) => [name, `sk-cv-${name}-${'x'.repeat(32)}`]));
    const filled = text.replace(/\$\{file:[^}]+\}/g, 'value-of-a-file');
    const checked = checkConfigText(filled, page, values, { implicitProviders: named });
    assert.ok(checked.ok, checked.ok ? '' : checked.errors.map(formatProblem).join('\n'));
  },
  json({ text }) {
    // With the line of the request before it, where it is a body.
    for (const body of text.split(/^(?:GET|PUT|POST|PATCH|DELETE) \/\S*$/m)) {
      if (body.trim() !== '') JSON.parse(body);
    }
  },
};

const python = (module: string) => {
  const find = `import importlib.util, sys; sys.exit(importlib.util.find_spec(${JSON.stringify(module)}) is None)`;
  return spawnSync('python3', ['-c', find], { env }).status === 0;
};

function missing({ language, text }: Snippet): string | false {
  if (language === 'sh' && curl === '') return 'no curl here';
  if (language !== 'python') return false;
  const module = /^(?:from|import) (?!os\b)(\w+)/m.exec(text)![1]!;
  return python(module) ? false : `no package ${module} for python3 here (npm run setup:test-tools)`;
}

const program = await createProgram(
  { version: '0' } as CliParts,
  async () => undefined,
  async () => undefined,
  null,
);

/** Lines that call culvert name commands and options that exist. */
function checkCommands(text: string): void {
  const calls = text.matchAll(/(?:^|\$\(|\| )(?:npm run (?:-s )?culvert -- |npx culvert-gateway |culvert )([^\n|]*)/gm);
  for (const [, call] of calls) {
    const words = call!.replace(/\s#.*$/, '').split(/\s+/);
    let command: Command = program;
    for (const word of words) {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined) break;
      command = next;
    }
    assert.notEqual(command, program, `culvert ${call}: no such command`);
    for (const [, option] of call!.matchAll(/(?:^|\s|\[)(--[a-z][a-z-]*)/g)) {
      const known = command.options.some(({ long, negate }) => long === option && !negate) || option === '--help';
      assert.ok(known, `culvert ${call}: ${command.name()} has no option ${option}`);
    }
  }
}

for (const name of pages) {
  const folder = mkdtempSync(join(temporary, 'page-'));
  // What the reader has: a recording.
  writeFileSync(join(folder, 'talk.mp3'), talk);
  for (const snippet of snippetsOf(name)) {
    const { line, language, notRun, text } = snippet;
    const run = languages[language];
    const title = `${name}:${line} ${language}`;
    if (notRun !== null || run === undefined) {
      test(`${title} says why it does not run, and names no command that is not there`, () => {
        assert.ok((notRun ?? '').length >= 10, `run it, or write <!-- not run: WHY --> above line ${line}`);
        if (language === 'sh') checkCommands(text);
      });
      continue;
    }
    test(`${title} runs as it stands`, { skip: missing(snippet) }, async () => {
      await run(snippet, folder);
      if (language === 'sh') checkCommands(text);
    });
  }
}

test('pages speak of one server by CULVERT_URL, and of keys by CULVERT_API_KEY and CULVERT_ADMIN_KEY', () => {
  for (const name of pages) {
    for (const { language, text, line } of snippetsOf(name)) {
      if (!['sh', 'js', 'python'].includes(language)) continue;
      const said = text.replace(/^export CULVERT_URL=.*$/gm, '');
      assert.doesNotMatch(said, /127\.0\.0\.1:4141|localhost:4141/, `${name}:${line}: say $CULVERT_URL`);
      assert.doesNotMatch(said, /\$(KEY|API_KEY|TOKEN)\b|process\.env\.KEY\b/, `${name}:${line}: say $CULVERT_API_KEY`);
    }
  }
});
