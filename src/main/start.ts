import { askAboutLocals } from '../cli/ask-about-locals.ts';
import { FileSecrets } from '../cli/file-secrets.ts';
import { note } from '../cli/print.ts';
import { overridden } from '../cli/start-options.ts';
import { type StartFacts, startMessage } from '../cli/start-table.ts';
import type { ConfigResult } from '../config/check.ts';
import { processesOf } from '../config/declared.ts';
import { configText, findConfigFile, type LoadOptions, loadConfig, wholeConfigText } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { providersInEnvironment } from '../formats/providers/catalog.ts';
import { probeGet } from '../formats/providers/probe-get.ts';
import { type LocalServer, probeLocalServers } from '../formats/providers/probe-local.ts';
import { budgetedIn, uncountedTargets, unpricedFix, unpricedMessage } from '../inference/models/unpriced.ts';
import { withinMs } from '../kernel/within-ms.ts';
import { createLog } from '../observe/log.ts';
import { outliveErrors, type Served, StartRefused, untilStopped } from '../processes/lifetime.ts';
import { Reloads, type ReloadsParts, reloadByAdmin } from '../processes/reloads.ts';
import type { FirstKey } from './callers.ts';
import type { Gateway } from './gateway.ts';
import type { GatewayOptions } from './gateway-options.ts';

export interface StartOptions {
  config: string | undefined;
  host: string | undefined;
  port: number | undefined;
  version: string;
  /** The file that Node runs, for workers. */
  program: string;
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
  const secrets = new FileSecrets(() => wholeConfigText(file, env));
  const load = async (read: (options: LoadOptions) => ConfigResult | Promise<ConfigResult>) => {
    await secrets.read();
    return overridden(await read({ file, env, implicitProviders }), options);
  };
  const loadAgain = () => load(loadBeside);
  const loaded = await load(loadConfig);
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

  const requested = env.CULVERT_AUTODETECT === '1' ? 'on' : config.autodetect;
  const probing: Promise<LocalServer[]> = requested === 'off' ? Promise.resolve([]) : probeLocalServers({ probeGet });
  const apply: ReloadsParts['apply'] = (next) => server.reconfigure(next);
  const noteReload: ReloadsParts['note'] = (reload) => server.noteReload(reload);
  const reloads = new Reloads({ load: loadAgain, file, loaded, log, flush, apply, note: noteReload });
  const parts = { config, file, log, version: options.version, locals: requested === 'on' ? await probing : [] };
  let server: Served<FirstKey | null> & Pick<Gateway, 'reconfigure' | 'noteReload'>;
  let gateway: Gateway | null = null;
  try {
    if (processesOf(config) > 1) {
      const { startWorkers } = await import('./primary.ts');
      server = await startWorkers({ ...parts, program: options.program, reloads, flush });
    } else {
      const reload: GatewayOptions['reload'] = (mode) => reloads.reload(reloadByAdmin, mode);
      gateway = await openGatewayOf(parts, { greets: true, reload });
      server = gateway;
    }
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    note(error.message);
    return 1;
  }

  outliveErrors(log);
  reloads.begin();
  secrets.watch(() => reloads.reload('a secret changed', 'careful'), log);
  return untilStopped({ server, reloads, log, flush }, async (newUserKey) => {
    setImmediate(options.flushCompileCache);
    // Of several processes, a worker greets.
    if (gateway === null) return;
    const found = await probing;
    await announce({ gateway, found, newUserKey, version: options.version });
    if (requested === 'ask' && interactive && process.stdin.isTTY)
      askAboutLocals(found, (usable) => void gateway.useLocals(usable));
  });
}

async function loadBeside(options: LoadOptions): Promise<ConfigResult> {
  const { loadConfigBeside } = await import('../config/load-beside.ts');
  return loadConfigBeside(new URL('./load-worker.ts', import.meta.url), options);
}

/** The gateway of a start. The primary of several workers does not load it. */
export async function openGatewayOf(
  { file, ...parts }: Pick<GatewayOptions, 'config' | 'log' | 'version' | 'locals'> & { file: string | null },
  more: Pick<GatewayOptions, 'reload' | 'seat' | 'greets'>,
): Promise<Gateway> {
  const { env } = process;
  const implicitProviders = providersInEnvironment(env).map(({ id }) => id);
  const { openGateway } = await import('./gateway.ts');
  const gateway = await openGateway({
    ...parts,
    ...more,
    env,
    configFile: file,
    configText: () => configText(file),
    checkConfig: (text) => loadBeside({ file: file ?? 'culvert.yaml', env, implicitProviders, text }),
  });
  if (Object.keys(env).some((name) => /^https?_proxy$/i.test(name))) {
    const { environmentProxies } = await import('../upstream/transport/proxy.ts');
    const { leadFetches } = await import('../upstream/transport/fetch-agent.ts');
    leadFetches(environmentProxies(env));
  }
  return gateway;
}

/** Prints the start table. */
export async function announce({
  gateway,
  newUserKey,
  ...facts
}: Pick<StartFacts, 'found' | 'version'> & { gateway: Gateway; newUserKey: FirstKey | null }): Promise<void> {
  // The pasted curl names a model that exists, so a short wait for the lists; requests are served meanwhile.
  await withinMs(listWaitMs, gateway.modelsKnown, null);
  const { url, adminKey, dashboard } = gateway;
  const file = gateway.firstKeyFile();
  const userKey = newUserKey ?? (file === null ? null : { made: null, file });
  const reader = process.stdout.isTTY === true ? 'person' : 'machine';
  // A store that cannot be written now keeps nobody from reading the rest.
  const login = reader === 'person' ? await gateway.loginLink().catch(() => null) : null;
  const snapshot = gateway.snapshots.current;
  process.stdout.write(startMessage({ ...facts, url, adminKey, userKey, reader, snapshot, dashboard, login }));
  if (snapshot.pricing !== null) return;
  const uncounted = unpricedMessage(uncountedTargets(snapshot, budgetedIn(snapshot.config)));
  if (uncounted !== null) note(`warning: ${uncounted}. ${unpricedFix}`);
}
