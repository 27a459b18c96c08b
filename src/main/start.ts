import { note } from '../cli/print.ts';
import { type StartFacts, startMessage } from '../cli/start-table.ts';
import { type ConfigResult, checkConfigText } from '../config/check.ts';
import { configText, findConfigFile, loadConfig } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { providersInEnvironment } from '../formats/providers/catalog.ts';
import { probeGet } from '../formats/providers/probe-get.ts';
import { type LocalServer, probeLocalServers } from '../formats/providers/probe-local.ts';
import { terminalClosed } from '../kernel/terminal-closed.ts';
import { createLog, type Log } from '../observe/log.ts';
import type { KeptKey } from './callers.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { Reloads } from './reloads.ts';
import { StartRefused } from './start-refused.ts';

export interface StartOptions {
  config: string | undefined;
  host: string | undefined;
  port: number | undefined;
  version: string;
  /** Called once everything has started: writes to disk what may help the next start. */
  flushCompileCache(): void;
}

/** How long a start waits for the providers' lists of models before it prints its table without them. */
const listWaitMs = 1_500;

/** `culvert start`: runs until a signal ends it; the process's exit code. */
export async function start(options: StartOptions): Promise<number> {
  const env = process.env;
  const file = findConfigFile({ flag: options.config, env, cwd: process.cwd() });
  const implicitProviders = providersInEnvironment(env).map(({ id }) => id);
  const load = () => overridden(loadConfig({ file, env, implicitProviders }), options);
  const loaded = load();
  if (!loaded.ok) {
    for (const problem of loaded.errors) note(formatProblem(problem));
    note(
      `\nThe configuration has ${loaded.errors.length === 1 ? 'an error' : `${loaded.errors.length} errors`}; nothing was started.`,
    );
    return 1;
  }
  const { config } = loaded;
  const interactive = process.stdout.isTTY === true;
  const { log, flush } = await createLog({ level: config.telemetry.log.level, form: interactive ? 'pretty' : 'json' });
  for (const warning of loaded.warnings) note(`warning: ${formatProblem(warning)}`);

  const wanted = env.CULVERT_AUTODETECT === '1' ? 'on' : config.autodetect;
  const probing: Promise<LocalServer[]> = wanted === 'off' ? Promise.resolve([]) : probeLocalServers({ probeGet });
  const reloads = new Reloads({ load, file, loaded, log, flush, apply: (next) => gateway.reconfigure(next) });
  let gateway: Gateway;
  try {
    gateway = await openGateway({
      config,
      env,
      log,
      version: options.version,
      locals: wanted === 'on' ? await probing : [],
      configFile: file,
      configText: () => configText(file),
      checkConfig: (text) =>
        checkConfigText(text, file ?? 'culvert.yaml', env, { implicitProviders, shownAs: 'culvert.yaml' }),
      reload: (mode) => reloads.reload('the admin API', mode),
    });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    note(error.message);
    return 1;
  }

  // Whatever one request's callback throws, the others go on.
  process.on('uncaughtException', (error) => log.error({ error: error.stack }, 'uncaught exception'));
  process.on('unhandledRejection', (error) =>
    log.error({ error: error instanceof Error ? error.stack : String(error) }, 'unhandled rejection'),
  );
  reloads.begin();
  return untilStopped({ gateway, reloads, log, flush }, async (newUserKey) => {
    setImmediate(options.flushCompileCache);
    const found = await probing;
    await announce({ gateway, found, newUserKey, version: options.version });
    if (wanted === 'ask' && interactive && process.stdin.isTTY) await askAboutLocals(gateway, found);
  });
}

/** With the options of the command line over it. */
function overridden(result: ConfigResult, { host, port }: Pick<StartOptions, 'host' | 'port'>): ConfigResult {
  if (!result.ok) return result;
  const { server } = result.config;
  const config = { ...result.config, server: { ...server, host: host ?? server.host, port: port ?? server.port } };
  return { ...result, config };
}

interface Started {
  gateway: Gateway;
  reloads: Reloads;
  log: Log;
  flush(): void;
}

/** One signal may come twice: with the process group, and passed on by npm, which got it too. */
const sameSignalMs = 500;

/** How long what nobody waits for any more may keep the process, once everything is closed. */
const lingerMs = 200;

/** Issues the first key and greets with it, then serves until a signal; the exit code. */
function untilStopped(
  { gateway, reloads, log, flush }: Started,
  greet: (newUserKey: KeptKey | null) => Promise<void>,
): Promise<number> {
  return new Promise((resolve) => {
    let stopping = false;
    let firstSignalMs = 0;
    // Not awaited, because requests are served already, and a signal must find its handlers below.
    gateway.issueFirstKey().then(greet, refuse);
    async function refuse(error: unknown): Promise<void> {
      if (stopping) return;
      stopping = true;
      console.error(error instanceof StartRefused ? error.message : error);
      reloads.close();
      await gateway.close(0).catch(() => undefined);
      flush();
      resolve(1);
    }
    const stop = (signal: string) => {
      // A second signal means now.
      if (stopping) {
        if (performance.now() - firstSignalMs < sameSignalMs) return;
        flush();
        process.exit(130);
      }
      stopping = true;
      firstSignalMs = performance.now();
      const { shutdown_grace: graceMs, drain_delay: delayMs } = reloads.current.server;
      const first = delayMs > 0 ? `all requests are served for ${delayMs / 1_000} s, then ` : '';
      log.info(`${signal}: ${first}running requests finish, within at most ${graceMs / 1_000} s`);
      flush();
      reloads.close();
      // Idle threads do not keep the process, so it would end (with 13) before it learns that the last one is gone.
      const alive = setInterval(() => undefined, delayMs + graceMs + 1_000);
      gateway
        .close(graceMs, delayMs)
        .then(
          () => {
            flush();
            resolve(0);
            // A call to a receiver of traces that says nothing would keep the process until it times out.
            setTimeout(() => process.exit(), lingerMs).unref();
          },
          (error: unknown) => {
            console.error(error);
            resolve(1);
          },
        )
        .finally(() => clearInterval(alive));
    };
    process.on('SIGTERM', () => stop('SIGTERM'));
    process.on('SIGINT', () => stop('SIGINT'));
    process.on('SIGHUP', () => {
      if (terminalClosed() && !stopping) stop('the terminal was closed');
    });
  });
}

async function announce({
  gateway,
  newUserKey,
  ...facts
}: Pick<StartFacts, 'found' | 'version'> & { gateway: Gateway; newUserKey: KeptKey | null }): Promise<void> {
  // The pasted curl names a model that exists, so a short wait for the lists; requests are served meanwhile.
  await Promise.race([gateway.modelsKnown, new Promise((resolve) => setTimeout(resolve, listWaitMs).unref())]);
  const { url, adminKey, dashboard } = gateway;
  const file = gateway.firstKeyFile();
  const userKey = newUserKey ?? (file === null ? null : { made: null, file });
  const reader = process.stdout.isTTY === true ? 'person' : 'machine';
  // A store that cannot be written now keeps nobody from reading the rest.
  const login = reader === 'person' ? await gateway.loginLink().catch(() => null) : null;
  const snapshot = gateway.snapshot();
  process.stdout.write(startMessage({ ...facts, url, adminKey, userKey, reader, snapshot, dashboard, login }));
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
