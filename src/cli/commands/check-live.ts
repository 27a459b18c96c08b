import type { ConfiguredProvider } from '../../inference/pipeline/connections.ts';
import { type LiveLook, lookAtProvider } from '../../inference/pipeline/live-look.ts';
import { probeGet } from '../../inference/providers/probe-get.ts';
import { type LocalServer, probeLocalServers } from '../../inference/providers/probe-local.ts';
import { createTransport } from '../../inference/transport/send.ts';
import { table } from '../table.ts';

export interface LiveReport {
  ok: boolean;
  live: readonly LiveLook[];
  /** Servers found on this machine, used or not. */
  local: readonly { type: string; url: string; models: number; note: string | null }[];
}

/** Asks every provider for its list of models, once with each credential, all at the same time. */
export async function checkLive(providers: ReadonlyMap<string, ConfiguredProvider>): Promise<LiveReport> {
  const transport = createTransport();
  try {
    const asked = [...providers.values()]
      .filter((provider) => !provider.simulated)
      .map(({ connection }) => lookAtProvider(transport, connection));
    const [looks, found] = await Promise.all([Promise.all(asked), probeLocalServers({ probeGet })]);
    const live = looks.flat();
    return {
      ok: live.every(({ verdict }) => verdict === 'ok' || verdict === 'not listed'),
      live,
      local: found.map((server: LocalServer) => ({ ...server, models: server.models.length })),
    };
  } finally {
    await transport.close();
  }
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
