import { providerTypes } from './catalog.ts';
import type { LocalFingerprint, LocalServerType, LocalUse } from './local-fingerprint.ts';
import { localFingerprints } from './local-fingerprints.ts';
import { type PortOpens, type ProbeAnswer, type ProbeGet, portOpens } from './probe-get.ts';
import type { DiscoveredModel } from './provider.ts';
import { readModelList } from './read-model-list.ts';

/** A recognised server on this machine. Found is not used: nothing but these GETs reaches it until it is confirmed. */
export interface LocalServer {
  type: LocalServerType;
  /** Its name for people. */
  title: string;
  /** `search`: web search asks it; `listed`: nothing here can use it, or not as it runs. */
  use: LocalUse;
  /** Its base URL as `base_url` takes it, such as `http://127.0.0.1:11434/v1`. */
  url: string;
  models: readonly DiscoveredModel[];
  /** Why it cannot simply be used; null: it can. */
  note: string | null;
}

export interface ProbeOptions {
  probeGet: ProbeGet;
  /** Instead of each kind's own ports, for servers that are elsewhere. */
  ports?: Partial<Record<LocalServerType, number>>;
  /** Absent: by trying to connect. */
  portOpens?: PortOpens;
}

const probeTimeoutMs = 300;
export const probeBodyBytesMax = 64 * 1024;
const loopbackHosts = ['127.0.0.1', '[::1]'] as const;

type Ask = (url: string) => Promise<ProbeAnswer | null>;

/**
 * Looks for known servers on 127.0.0.1 and [::1], all at once, `probeTimeoutMs` each; GET only, no credential, each
 * address once for all kinds, and none at all where nothing listens. In the order of `localFingerprints`; a server that
 * listens on both addresses is reported once, by IPv4. Never rejects.
 */
export async function probeLocalServers(options: ProbeOptions): Promise<LocalServer[]> {
  const opens = options.portOpens ?? portOpens;
  const listens = remembered((origin) => opens(origin, probeTimeoutMs).catch(() => false));
  const bounds = { timeoutMs: probeTimeoutMs, bodyBytesMax: probeBodyBytesMax };
  const ask = remembered((url) => options.probeGet(url, bounds).catch(() => null));
  const found = await Promise.all(
    localFingerprints.map(async (fingerprint) => {
      const configuredPort = options.ports?.[fingerprint.type];
      const origins = (configuredPort === undefined ? fingerprint.defaultPorts : [configuredPort]).flatMap((port) =>
        loopbackHosts.map((host) => `http://${host}:${port}`),
      );
      const onEach = await Promise.all(
        origins.map(async (origin) => ((await listens(origin)) ? probe(fingerprint, origin, ask) : null)),
      );
      return onEach.find((server) => server !== null) ?? null;
    }),
  );
  return found.filter((server) => server !== null);
}

function remembered<T>(ask: (url: string) => Promise<T>): (url: string) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (url) => {
    const before = answers.get(url);
    if (before !== undefined) return before;
    const answer = ask(url);
    answers.set(url, answer);
    return answer;
  };
}

async function probe(fingerprint: LocalFingerprint, origin: string, ask: Ask): Promise<LocalServer | null> {
  const { type, title, basePath, paths } = fingerprint;
  const answers = await Promise.all(paths.map((path) => ask(origin + path)));
  const recognised = fingerprint.recognise(answers);
  if (recognised === null) return null;
  const { list, note, use = fingerprint.use } = recognised;
  const models = providerTypes.get(type)?.listModels?.(list) ?? readModelList(list) ?? [];
  return { type, title, use, url: origin + basePath, models, note };
}
