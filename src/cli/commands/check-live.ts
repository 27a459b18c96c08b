import { probeGet } from '../../formats/providers/probe-get.ts';
import { type LocalServer, probeLocalServers } from '../../formats/providers/probe-local.ts';
import { scrub } from '../../formats/providers/scrub.ts';
import { type LiveLook, lookAtProvider } from '../../inference/models/live-look.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { systemClock as clock } from '../../kernel/clock.ts';
import { type EngineLook, lookAtEngines } from '../../tools/search/engine-look.ts';
import { configuredEngines, providersInForce } from '../../tools/search/engine-targets.ts';
import { environmentProxies } from '../../upstream/transport/proxy.ts';
import { createTransport } from '../../upstream/transport/send.ts';
import { table } from '../table.ts';

export interface LiveReport {
  ok: boolean;
  live: readonly Omit<LiveLook, 'listed'>[];
  search: readonly EngineLook[];
  /** Servers found on this machine, used or not. */
  local: readonly { type: string; url: string; models: number; note: string | null }[];
}

/**
 * Asks every provider for its list of models, once with each credential, and every search engine one query, all at the
 * same time.
 */
export async function checkLive({ providers, config, localSearch }: Snapshot): Promise<LiveReport> {
  const transport = createTransport({ proxyOf: environmentProxies(process.env) });
  try {
    const checked = [...providers.values()]
      .filter((provider) => !provider.simulated)
      .map(({ connection }) => lookAtProvider(transport, connection));
    const { engines } = configuredEngines(providersInForce(config.tools.search.providers, localSearch));
    const [looks, search, found] = await Promise.all([
      Promise.all(checked),
      lookAtEngines({ transport, clock, scrub }, engines),
      probeLocalServers({ probeGet }),
    ]);
    const live = looks.flat().map(({ listed: _listed, ...look }) => look);
    return {
      ok: [...live, ...search].every(({ verdict }) => verdict === 'ok' || verdict === 'not listed'),
      live,
      search,
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
  if (report.search.length > 0) {
    const rows = report.search.map(({ engine, verdict, ms, hits, message }) => [
      engine,
      verdict,
      `${ms} ms`,
      verdict === 'ok' ? String(hits) : '',
      message,
    ]);
    const searchNote = 'Each search engine got one query, which costs one search of its plan:';
    parts.push(`\n${searchNote}\n${table(['engine', 'verdict', 'latency', 'results', 'message'], rows)}`);
  }
  for (const { type, url, models, note } of report.local) {
    parts.push(`Found on this machine: ${type} at ${url}, ${models} models${note === null ? '' : ` (${note})`}`);
  }
  return parts.join('\n');
}
