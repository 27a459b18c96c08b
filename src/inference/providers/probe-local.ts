import { type LocalFingerprint, type LocalServerType, localFingerprints } from './local-fingerprints.ts';
import type { ProbeGet } from './probe-get.ts';
import type { DiscoveredModel } from './provider.ts';
import { readModelList } from './read-model-list.ts';

/** A recognised server on this machine. Found is not used: nothing but these GETs reaches it until it is confirmed. */
export interface LocalServer {
  type: LocalServerType;
  /** Its base URL as `base_url` takes it, such as `http://127.0.0.1:11434/v1`. */
  url: string;
  models: readonly DiscoveredModel[];
  /** What keeps it from simply being used; null for nothing. */
  note: string | null;
}

export interface ProbeOptions {
  probeGet: ProbeGet;
  /** Instead of each kind's own port, for servers that stand elsewhere. */
  ports?: Partial<Record<LocalServerType, number>>;
}

const probeTimeoutMs = 300;
export const probeBodyBytesMax = 64 * 1024;
const loopbackHosts = ['127.0.0.1', '[::1]'] as const;

/**
 * Looks for known servers on 127.0.0.1 and [::1], all at once, `probeTimeoutMs` each; GET only, no credential.
 * In the order of `localFingerprints`; a server that listens on both addresses is told once, by IPv4. Never rejects.
 */
export async function probeLocalServers(options: ProbeOptions): Promise<LocalServer[]> {
  const found = await Promise.all(
    localFingerprints.map(async (fingerprint) => {
      const port = options.ports?.[fingerprint.type] ?? fingerprint.defaultPort;
      const onEach = await Promise.all(
        loopbackHosts.map((host) => probe(fingerprint, `http://${host}:${port}`, options)),
      );
      return onEach.find((server) => server !== null) ?? null;
    }),
  );
  return found.filter((server) => server !== null);
}

async function probe(
  fingerprint: LocalFingerprint,
  origin: string,
  options: ProbeOptions,
): Promise<LocalServer | null> {
  const bounds = { timeoutMs: probeTimeoutMs, bodyBytesMax: probeBodyBytesMax };
  const answers = await Promise.all(
    fingerprint.paths.map((path) => options.probeGet(origin + path, bounds).catch(() => null)),
  );
  const recognised = fingerprint.recognise(answers);
  if (recognised === null) return null;
  return {
    type: fingerprint.type,
    url: `${origin}/v1`,
    models: readModelList(recognised.list) ?? [],
    note: recognised.note,
  };
}
