import type { ConfiguredProvider } from '../../inference/pipeline/connections.ts';
import type { CredentialHeaders } from '../../inference/providers/connection.ts';
import { type Discovery, discoverModels } from '../../inference/providers/discover.ts';
import { probeGet } from '../../inference/providers/probe-get.ts';
import { type LocalServer, probeLocalServers } from '../../inference/providers/probe-local.ts';
import { getJson } from '../../inference/transport/get-json.ts';
import { createTransport } from '../../inference/transport/send.ts';
import type { Transport } from '../../inference/transport/upstream-call.ts';
import { table } from '../table.ts';

export interface LiveReport {
  ok: boolean;
  live: readonly LiveLook[];
  /** Servers found on this machine, used or not. */
  local: readonly { type: string; url: string; models: number; note: string | null }[];
}

export interface LiveLook {
  provider: string;
  /** `provider#0`…: each credential is tried. */
  credential: string;
  verdict: 'ok' | 'not listed' | 'bad credential' | 'unreachable' | 'failed';
  message: string;
  models: number;
  ms: number;
}

const lookTimeoutMs = 10_000;

/** Asks every provider for its list of models, once with each credential, all at the same time. */
export async function checkLive(providers: ReadonlyMap<string, ConfiguredProvider>): Promise<LiveReport> {
  const transport = createTransport();
  try {
    const looks = [...providers.values()]
      .filter((provider) => !provider.simulated)
      .flatMap(({ connection }) =>
        [...connection.credentials].map(([id, headers]) => lookAt(transport, connection, id, headers)),
      );
    const [live, found] = await Promise.all([Promise.all(looks), probeLocalServers({ probeGet })]);
    return {
      ok: live.every(({ verdict }) => verdict === 'ok' || verdict === 'not listed'),
      live,
      local: found.map((server: LocalServer) => ({ ...server, models: server.models.length })),
    };
  } finally {
    await transport.close();
  }
}

async function lookAt(
  transport: Transport,
  connection: ConfiguredProvider['connection'],
  credential: string,
  headers: CredentialHeaders,
): Promise<LiveLook> {
  const startedMs = performance.now();
  let unreachable: string | null = null;
  const found = await discoverModels(connection, async ({ origin }, path) => {
    unreachable = null;
    return getJson(transport, { origin, path, headers: headers.get }, lookTimeoutMs).catch((error: unknown) => {
      unreachable = error instanceof Error ? error.message : String(error);
      throw error;
    });
  });
  return {
    provider: connection.name,
    credential,
    ...judged(found, unreachable),
    ms: Math.round(performance.now() - startedMs),
  };
}

function judged(found: Discovery, unreachable: string | null): Pick<LiveLook, 'verdict' | 'message' | 'models'> {
  if (found.ok) return { verdict: 'ok', message: '', models: found.models.length };
  if (unreachable !== null) return { verdict: 'unreachable', message: unreachable, models: 0 };
  if (found.reason === 'not-listed') return { verdict: 'not listed', message: found.message, models: 0 };
  return {
    verdict: found.reason === 'bad_credential' ? 'bad credential' : 'failed',
    message: found.message,
    models: 0,
  };
}

export function liveTable(report: LiveReport): string {
  const looks = report.live.map((look) => [
    look.credential,
    look.verdict,
    `${look.ms} ms`,
    look.verdict === 'ok' ? String(look.models) : '',
    look.message,
  ]);
  const parts = [
    looks.length === 0
      ? 'No provider is configured.'
      : table(['credential', 'verdict', 'latency', 'models', 'message'], looks),
  ];
  for (const { type, url, models, note } of report.local) {
    parts.push(`Found on this machine: ${type} at ${url}, ${models} models${note === null ? '' : ` (${note})`}`);
  }
  return parts.join('\n');
}
