import { relative } from 'node:path';
import type { Reloaded, ReloadMode } from '../admin/parts.ts';
import { type StartFacts, startMessage } from '../cli/start-table.ts';
import { type ConfigResult, checkConfigText } from '../config/check.ts';
import { whyNotReplaced } from '../config/declared.ts';
import { findConfigFile, loadConfig } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import type { Config } from '../config/schema.ts';
import { settled, watchConfig } from '../config/watch.ts';
import { providersInEnvironment } from '../inference/providers/catalog.ts';
import { probeGet } from '../inference/providers/probe-get.ts';
import { type LocalServer, probeLocalServers } from '../inference/providers/probe-local.ts';
import { createLog } from '../observe/log.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { StartRefused } from './stores.ts';

export interface StartOptions {
  config: string | undefined;
  host: string | undefined;
  port: number | undefined;
  version: string;
  /** Once everything stands: what may be written to disk for the next start. */
  flushCompileCache(): void;
}

/** How long a start waits for the providers' lists of models before it prints its table without them. */
const listWaitMs = 1_500;

/** `culvert start`: runs until a signal ends it; the process's exit code. */
export async function start(options: StartOptions): Promise<number> {
  const env = process.env;
  const file = findConfigFile({ flag: options.config, env, cwd: process.cwd() });
  const implicitProviders = providersInEnvironment(env).map(({ id }) => id);
  const load = () => loadConfig({ file, env, implicitProviders });
  const loaded = load();
  if (!loaded.ok) {
    for (const problem of loaded.errors) console.error(formatProblem(problem));
    console.error(
      `\nThe configuration has ${loaded.errors.length === 1 ? 'an error' : `${loaded.errors.length} errors`}; nothing was started.`,
    );
    return 1;
  }
  const overridden = (config: Config): Config => ({
    ...config,
    server: { ...config.server, host: options.host ?? config.server.host, port: options.port ?? config.server.port },
  });
  const config = overridden(loaded.config);
  const interactive = process.stdout.isTTY === true;
  const { log, flush } = await createLog({ level: config.telemetry.log.level, form: interactive ? 'pretty' : 'json' });
  for (const warning of loaded.warnings) console.error(`warning: ${formatProblem(warning)}`);

  const wanted = env.CULVERT_AUTODETECT === '1' ? 'on' : config.autodetect;
  const probing: Promise<LocalServer[]> = wanted === 'off' ? Promise.resolve([]) : probeLocalServers({ probeGet });
  let gateway: Gateway;
  try {
    gateway = await openGateway({
      config,
      env,
      log,
      version: options.version,
      locals: wanted === 'on' ? await probing : [],
      configFile: file,
      checkConfig: (text) =>
        checkConfigText(text, file ?? 'culvert.yaml', env, { implicitProviders, shownAs: 'culvert.yaml' }),
      reload: (mode) => reload('the admin API', mode),
    });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    console.error(error.message);
    return 1;
  }

  // Whatever one request's callback throws, the others go on.
  process.on('uncaughtException', (error) => log.error({ error: error.stack }, 'uncaught exception'));
  process.on('unhandledRejection', (error) =>
    log.error({ error: error instanceof Error ? error.stack : String(error) }, 'unhandled rejection'),
  );

  let current = config;
  let sources = loaded.sources;
  const watch = watchConfig({ sources, onChange: () => void reload('the file changed', 'careful') });
  let settling: Promise<void> | null = null;
  async function reload(why: string, mode: ReloadMode): Promise<Reloaded> {
    settling ??= settled(sources).finally(() => {
      settling = null;
    });
    await settling;
    const next = mode === 'force' ? load() : replacing(load());
    sources = next.sources;
    watch.update(sources);
    if (!next.ok) {
      log.error(
        { errors: next.errors.map(formatProblem) },
        `configuration not reloaded (${why}): it has errors, the old one stays in use`,
      );
      flush();
      return next;
    }
    const config = overridden(next.config);
    for (const key of needsRestart(current, config)) log.warn(`${key} changed: it takes effect at the next start`);
    current = config;
    log.level = config.telemetry.log.level;
    await gateway.reconfigure(config);
    log.info(`configuration reloaded (${why})`);
    flush();
    return { ok: true, config };
  }
  /** A file that was cut where a list begins is valid, and must not lock everybody out. */
  function replacing(next: ConfigResult): ConfigResult {
    const message = next.ok ? whyNotReplaced(current, next.config) : null;
    if (message === null || file === null) return next;
    return {
      ok: false,
      errors: [{ file: relative('', file), line: 1, column: 1, path: 'keys', message }],
      sources: next.sources,
    };
  }
  process.on('SIGHUP', () => void reload('SIGHUP', 'careful'));

  return new Promise((resolve) => {
    let stopping = false;
    // Not awaited: requests are served already, and a signal must find its handlers below.
    gateway.issueFirstKey().then(greet, refuse);
    async function greet(newUserKey: string | null): Promise<void> {
      setImmediate(options.flushCompileCache);
      const found = await probing;
      await announce({ gateway, found, newUserKey, version: options.version });
      if (wanted === 'ask' && interactive && process.stdin.isTTY) await askAboutLocals(gateway, found);
    }
    async function refuse(error: unknown): Promise<void> {
      if (stopping) return;
      stopping = true;
      console.error(error instanceof StartRefused ? error.message : error);
      watch.close();
      await gateway.close(0).catch(() => undefined);
      flush();
      resolve(1);
    }
    const stop = (signal: string) => {
      // A second signal means now.
      if (stopping) {
        flush();
        process.exit(130);
      }
      stopping = true;
      log.info(`${signal}: finishing running requests, at most ${current.server.shutdown_grace / 1_000} s`);
      flush();
      watch.close();
      gateway.close(current.server.shutdown_grace).then(
        () => {
          flush();
          resolve(0);
        },
        (error: unknown) => {
          console.error(error);
          resolve(1);
        },
      );
    };
    process.on('SIGTERM', () => stop('SIGTERM'));
    process.on('SIGINT', () => stop('SIGINT'));
  });
}

async function announce({
  gateway,
  ...facts
}: Pick<StartFacts, 'found' | 'newUserKey' | 'version'> & { gateway: Gateway }): Promise<void> {
  // The pasted curl names a model that exists, so a short wait for the lists; requests are served meanwhile.
  await Promise.race([gateway.modelsKnown, new Promise((resolve) => setTimeout(resolve, listWaitMs).unref())]);
  const { url, newAdminKey } = gateway;
  process.stdout.write(startMessage({ ...facts, url, newAdminKey, snapshot: gateway.snapshot() }));
}

/** One keypress on a terminal confirms; anything else leaves them alone. */
async function askAboutLocals(gateway: Gateway, found: readonly LocalServer[]): Promise<void> {
  const usable = found.filter(({ note, use }) => note === null && use !== 'listed');
  if (usable.length === 0) return;
  process.stdout.write(`Use ${usable.map(({ title }) => title).join(', ')}? [y/N] `);
  process.stdin.setRawMode(true);
  process.stdin.once('data', (key: Buffer) => {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    const answer = key.toString().toLowerCase();
    process.stdout.write(`${answer === 'y' ? 'yes' : 'no'}\n`);
    if (answer === 'y') void gateway.useLocals(usable);
    // Raw mode swallows Ctrl-C.
    if (answer === '\u0003') process.kill(process.pid, 'SIGINT');
  });
}

/** What is taken once, at the start. */
const takenAtStart: Readonly<Record<string, (config: Config) => unknown>> = {
  'server.host': ({ server }) => server.host,
  'server.port': ({ server }) => server.port,
  'storage.data_dir': ({ storage }) => storage.data_dir,
  'storage.database': ({ storage }) => storage.database,
  'storage.state': ({ storage }) => storage.state,
  'storage.on_state_loss': ({ storage }) => storage.on_state_loss,
  'storage.secret': ({ storage }) => storage.secret,
  'telemetry.prometheus': ({ telemetry }) => telemetry.prometheus,
  vectors: ({ vectors }) => JSON.stringify(vectors),
};

function needsRestart(before: Config, after: Config): string[] {
  return Object.entries(takenAtStart).flatMap(([key, of]) => (of(before) === of(after) ? [] : [key]));
}
