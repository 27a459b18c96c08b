import type { Random } from '../kernel/random.ts';
import { seededRandom } from '../kernel/random.ts';
import type { FaultSpec, ParsedFaultSpec } from './fault-spec.ts';
import { healthy, namesFailure, parseFaultSpec, withoutFailures } from './fault-spec.ts';
import type { Script } from './script.ts';

export interface FaultSources {
  path: string;
  credential: string;
  /** The `x-mock` header; null when absent. */
  header: string | null;
  /** The request's model; '' when unknown. */
  model: string;
}

export interface FaultChoice {
  take(sources: FaultSources): ParsedFaultSpec;
  /** Starts every row of chance again. */
  clear(): void;
}

const modelPrefix = 'mock/';
const seedsMax = 1_000;

/**
 * Which spec a request gets: the script's next, else the `x-mock` header's, else the one in a model name `mock/<spec>`,
 * else the server's own. Exactly one of them counts; they are never mixed.
 */
export function createFaultChoice(script: Script, serverSpec: FaultSpec): FaultChoice {
  // One row of chance per seed, so that requests of one test do not move another's.
  const rows = new Map<number, Random>();

  function flapped(spec: FaultSpec, flap: number): FaultSpec {
    const seed = spec.seed ?? 1;
    let row = rows.get(seed);
    if (row === undefined) {
      if (rows.size >= seedsMax) rows.clear();
      row = seededRandom(seed);
      rows.set(seed, row);
    }
    if (row.next() >= flap) return withoutFailures(spec);
    return namesFailure(spec) ? spec : { ...spec, status: 503 };
  }

  return {
    take(sources: FaultSources): ParsedFaultSpec {
      const scripted = script.take(sources.path, sources.credential);
      let spec = scripted ?? serverSpec;
      if (scripted === null) {
        const source = sources.header ?? modelSpec(sources.model);
        if (source !== null) {
          const parsed = parseFaultSpec(source);
          if (!parsed.ok) return parsed;
          spec = parsed.spec;
        }
      }
      if (spec === healthy) return healthyChoice;
      return { ok: true, spec: spec.flap === undefined ? spec : flapped(spec, spec.flap) };
    },
    clear(): void {
      rows.clear();
    },
  };
}

const healthyChoice: ParsedFaultSpec = { ok: true, spec: healthy };

function modelSpec(model: string): string | null {
  return model.startsWith(modelPrefix) ? model.slice(modelPrefix.length) : null;
}
