import { FileSecrets } from '../cli/file-secrets.ts';
import { checkConfigText } from '../config/check.ts';
import { providersInEnvironment } from '../formats/providers/catalog.ts';
import { GatewayError } from '../library/gateway-error.ts';
import type { OpenEmbedded, OpenedGateway } from '../library/opened-gateway.ts';
import { readConfig, textOf } from '../library/read-config.ts';
import { createLogTo } from '../observe/log.ts';
import { StartRefused } from '../processes/lifetime.ts';
import { openGateway } from './gateway.ts';

/** Opens a gateway for an application: without signals, without a port, and without an end of the process. */
export async function openLibraryGateway(
  options: Parameters<OpenEmbedded>[0],
  version: string,
): Promise<OpenedGateway> {
  const { env } = options;
  const implicitProviders = providersInEnvironment(env).map(({ id }) => id);
  let given = options.config;
  const secrets = new FileSecrets(() => textOf(given, env), env);
  const read = async (next = given) => {
    given = next;
    await secrets.read();
    return readConfig(next, { env, implicitProviders });
  };
  const { config, file, text, warnings } = await read();
  const { log, close: closeLog } = await createLogTo(options.log, config.telemetry.log.level);
  for (const { path, message } of warnings) log.warn({ path }, message);
  const checkConfig = (text: string) => checkConfigText(text, file ?? 'culvert.yaml', env, { implicitProviders });
  const parts = { config, env, log, version, locals: [], configFile: file, configText: text, checkConfig };
  const gateway = await openGateway({
    ...parts,
    listens: 'when-asked',
    reload: async () => ({ ok: true, config: (await read()).config }),
  }).catch(refused);
  const { door } = gateway;
  const unwatch = secrets.watch(
    () =>
      void read().then(
        (next) => gateway.reconfigure(next.config),
        () => undefined,
      ),
    log,
  );
  return {
    handle: door.handle.bind(door),
    upgrade: door.upgrade.bind(door),
    connect: door.connect.bind(door),
    listen: ({ host = config.server.host, port = config.server.port }) => gateway.listen(host, port).catch(refused),
    reload: async (next) => gateway.reconfigure((await read(next)).config),
    async close(...by) {
      unwatch();
      await gateway.close(...by);
      closeLog();
    },
  };
}

function refused(error: unknown): never {
  throw error instanceof StartRefused ? new GatewayError([{ path: '', message: error.message }]) : error;
}
