import { createHash } from 'node:crypto';
import { noCapabilities, type Target } from '../../routing/target.ts';
import { brave } from './brave.ts';
import { exa } from './exa.ts';
import type { EngineSettings, SearchEngine } from './search-engine.ts';
import { searxng } from './searxng.ts';
import { serper } from './serper.ts';
import { tavily } from './tavily.ts';

/** A further engine is one file and one line here. */
const drivers = { searxng, brave, tavily, serper, exa } as const satisfies Record<string, SearchEngine>;

/** One entry of `tools.search.providers`. */
export interface SearchProviderConfig {
  type: keyof typeof drivers | 'corpus';
  base_url?: string | undefined;
  api_key?: string | undefined;
  priority: number;
}

/** An engine as configured and as routing sees it. */
export interface ConfiguredEngine {
  /** Its type; the second of one type is `brave-2`. */
  name: string;
  /** Type in the configuration. */
  type: SearchProviderConfig['type'];
  /** Null: the caller's own pages. */
  driver: SearchEngine | null;
  settings: EngineSettings;
  target: Target;
}

/** The file's; without any, a confirmed SearXNG of this machine (`localUrl`, null: there is none). */
export function providersInForce(
  configured: readonly SearchProviderConfig[],
  localUrl: string | null,
): readonly SearchProviderConfig[] {
  return localUrl === null ? configured : [{ type: 'searxng', base_url: localUrl, priority: 1 }];
}

export const corpusName = 'corpus';
/** One engine gets this much of the time that the caller gives all of them. */
const engineTimeoutMs = 10_000;

/** The engines of a configuration in its order. The corpus is always last, so that it can be requested by name. */
export function configuredEngines(providers: readonly SearchProviderConfig[]): {
  engines: readonly ConfiguredEngine[];
  corpus: ConfiguredEngine;
} {
  const counts = new Map<string, number>();
  const engines = providers.map((config) => {
    const count = (counts.get(config.type) ?? 0) + 1;
    counts.set(config.type, count);
    return engineOf(config, count === 1 ? config.type : `${config.type}-${count}`);
  });
  const corpus = engines.find(({ driver }) => driver === null) ?? engineOf({ type: 'corpus', priority: 1 }, corpusName);
  return { engines: engines.length === 0 ? [corpus] : engines, corpus };
}

function engineOf(config: SearchProviderConfig, name: string): ConfiguredEngine {
  const driver: SearchEngine | null = config.type === 'corpus' ? null : drivers[config.type];
  const settings = { baseUrl: config.base_url ?? driver?.defaultBaseUrl ?? '', apiKey: config.api_key ?? '' };
  return { name, type: config.type, driver, settings, target: targetOf(name, config.priority, settings) };
}

/** Facts for the router. No engine speaks a dialect of models, so all count as speaking the same one. */
function targetOf(name: string, priority: number, settings: EngineSettings): Target {
  // A corrected key, or a new address, must not inherit the health of the old one.
  const version = createHash('sha256').update(`${settings.baseUrl} ${settings.apiKey}`).digest('hex').slice(0, 8);
  return {
    id: name,
    healthId: `${name} ${version}`,
    provider: name,
    model: 'search',
    priority,
    weight: 1,
    dialect: 'openai-chat',
    credentials: [{ id: `${name}#${version}`, weight: 1, rpm: null }],
    capabilities: noCapabilities,
    timeouts: {
      connectMs: engineTimeoutMs,
      firstTokenMs: engineTimeoutMs,
      idleMs: engineTimeoutMs,
      totalMs: engineTimeoutMs,
    },
    contextWindow: null,
    maxOutputTokens: null,
    price: null,
    simulated: false,
    stream: false,
    body: {},
  };
}
