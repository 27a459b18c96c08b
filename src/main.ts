import { readFileSync } from 'node:fs';
import type { CliParts } from './cli/parts.ts';
import { runCli } from './cli/run-cli.ts';
import { claimProcess } from './kernel/sole-process.ts';
import type { OpenEmbedded } from './library/opened-gateway.ts';

/** Facts from `bin/culvert.mjs`, which alone knows about Node versions. */
export interface Launch {
  /** The file that Node runs, for the workers of several processes. */
  program: string;
  flushCompileCache(): void;
}

/** The composition root: the only place, with the folder `main`, that knows every room. */
export async function main(argv: readonly string[], launch: Launch): Promise<void> {
  claimProcess();
  const version = packageVersion();
  // Programs that a worker starts inherit the variable, and have no primary.
  if (process.env.CULVERT_WORKER !== undefined && process.connected) {
    const { work } = await import('./main/worker.ts');
    process.exitCode = await work({ ...launch, version });
    return;
  }
  process.exitCode = await runCli(argv, {
    version,
    async start(options) {
      const { start } = await import('./main/start.ts');
      return start({ ...options, ...launch, version });
    },
    async mock(options) {
      const { createSimulator } = await import('./simulator/simulator.ts');
      const simulator = createSimulator({
        purpose: 'mock',
        name: options.name,
        onEnded: ({ method, path, aborted, bytes_sent: bytesSent, at_ms: atMs, ended_ms: endedMs }) =>
          options.onEnded({ method, path, aborted, bytesSent, ms: Math.round((endedMs ?? atMs) - atMs) }),
      });
      const { url } = await simulator.listen(options);
      return { url, close: () => simulator.close() };
    },
    async mockHelp() {
      return (await import('./simulator/help.ts')).mockHelp();
    },
    ...lazyStores(version),
    async startRefusals(config) {
      const { startRefusals } = await import('./main/start-refusals.ts');
      const { environmentProxies } = await import('./upstream/transport/proxy.ts');
      return startRefusals(config, { env: process.env, proxyOf: environmentProxies(process.env) });
    },
    async snapshotOf(config) {
      const { previewHere } = await import('./main/preview.ts');
      return previewHere(config, process.env);
    },
  });
}

/** Opens a gateway inside an application (`main/library`). */
export const openEmbedded: OpenEmbedded = async (options) => {
  const { openLibraryGateway } = await import('./main/library.ts');
  return openLibraryGateway(options, packageVersion());
};

/** Loads configurations in a thread. It runs the program's own bundle, which has all that they are checked with. */
export async function answerLoads(): Promise<void> {
  (await import('./config/load-orders.ts')).answerLoads();
}

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return version;
}

/** Loaded at need: `start` has its own stores, and most commands have none. */
function lazyStores(
  version: string,
): Omit<CliParts, 'version' | 'start' | 'mock' | 'mockHelp' | 'snapshotOf' | 'startRefusals'> {
  const stores = async () => (await import('./main/cli.ts')).cliStores(version);
  return {
    adminApi: async (config, configFile) => (await stores()).adminApi(config, configFile),
    stored: async (config) => (await stores()).stored(config),
    storeFacts: async (config) => (await stores()).storeFacts(config),
    damages: async (config) => (await stores()).damages(config),
    migrations: async (config) => (await stores()).migrations(config),
    migrate: async (config) => (await stores()).migrate(config),
    async *readBackup(config, scratch) {
      yield* (await stores()).readBackup(config, scratch);
    },
    writeBackup: async (config, rows) => (await stores()).writeBackup(config, rows),
  };
}
