import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { closedPort } from './start-process.ts';

const installed = spawnSync('sh', ['-c', 'command -v searx-run']).status === 0;

/** Why tests over SearXNG cannot run here: a test's `skip`. */
export const searxMissing: string | false = installed ? false : 'searx is not installed (npm run setup:test-tools)';

/** Python, its engines' modules and 600 KB of YAML on a machine that does other things too. */
const startMaxMs = 120_000;
const lookAgainMs = 100;

/**
 * Debian's searx, whose API SearXNG kept, on loopback; gone after the test. Its one engine asks `<backend>/find?q=` for
 * `{"results": [{"url", "title", "content"}]}` and nothing else on the network.
 */
export async function startSearx(t: Pick<TestContext, 'after'>, backend: string): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-searx-'));
  const port = await closedPort();
  const settings = join(dir, 'settings.yml');
  writeFileSync(settings, stringify(settingsFor(port, backend)));
  const child = spawn('searx-run', [], {
    env: { PATH: process.env.PATH ?? '', HOME: dir, SEARX_SETTINGS_PATH: settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-8_192);
    });
  }
  const ended = new Promise<void>((told) => child.once('exit', () => told()).once('error', () => told()));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  });
  const url = `http://127.0.0.1:${port}`;
  await answers(url, child, () => said);
  return url;
}

async function answers(url: string, child: ChildProcess, said: () => string): Promise<void> {
  const untilMs = performance.now() + startMaxMs;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`searx ended: ${said()}`);
    const response = await fetch(`${url}/config`).catch(() => null);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    if (performance.now() > untilMs) throw new Error(`searx does not answer: ${said()}`);
    await pause(lookAgainMs);
  }
}

/** After the example that the package brings, which some images leave out with all documentation. */
function settingsFor(port: number, backend: string): object {
  return {
    general: { debug: false, instance_name: 'searx', contact_url: false, enable_stats: false },
    brand: {
      git_url: '',
      git_branch: '',
      issue_url: '',
      docs_url: '',
      public_instances: '',
      wiki_url: '',
      twitter_url: '',
    },
    search: {
      safe_search: 0,
      autocomplete: '',
      default_lang: '',
      ban_time_on_fail: 0,
      max_ban_time_on_fail: 0,
      prefer_configured_language: false,
      formats: ['html', 'json'],
    },
    server: {
      port,
      bind_address: '127.0.0.1',
      secret_key: 'only-for-tests',
      base_url: false,
      image_proxy: false,
      http_protocol_version: '1.0',
      method: 'GET',
      default_http_headers: {},
    },
    ui: {
      static_path: '/usr/share/python3-searx/static',
      templates_path: '/usr/share/python3-searx/templates',
      default_theme: 'oscar',
      default_locale: '',
      theme_args: { oscar_style: 'logicodev' },
    },
    outgoing: { request_timeout: 30, useragent_suffix: '', pool_connections: 10, pool_maxsize: 10 },
    checker: { off_when_debug: true },
    engines: [
      {
        name: 'mock',
        engine: 'json_engine',
        shortcut: 'mo',
        categories: 'general',
        paging: true,
        enable_http: true,
        timeout: 30,
        search_url: `${backend}/find?q={query}&page={pageno}`,
        results_query: 'results',
        url_query: 'url',
        title_query: 'title',
        content_query: 'content',
      },
    ],
    locales: { en: 'English' },
    doi_resolvers: { 'oadoi.org': 'https://oadoi.org/' },
    default_doi_resolver: 'oadoi.org',
  };
}
