import type { Clock } from '../../kernel/clock.ts';
import { isObject } from '../../kernel/json.ts';
import { type Random, seededRandom } from '../../kernel/random.ts';
import type { ArrivedBody } from '../compose-reply.ts';
import type { Script } from './fault-script.ts';
import type { FaultSpec, ParsedFaultSpec } from './fault-spec.ts';
import { healthy, namesFailure, parseFaultSpec, withoutFailures } from './fault-spec.ts';

export interface FaultSources {
  path: string;
  credential: string;
  /** The `x-mock` header; null when absent. */
  header: string | null;
  /** The request's model; '' when unknown. */
  model: string;
  body: ArrivedBody;
}

export type FaultChoice = ReturnType<typeof createFaultChoice>;

const modelPrefix = 'mock/';
const seedsMax = 1_000;

/** State of the requests of one seed. */
interface Row {
  chance: Random;
  count: number;
}

/**
 * Which spec a request gets: the script's next, else the `x-mock` header's, else the one in a model name `mock/<spec>`,
 * else the server's own. Exactly one of them counts; they are never mixed.
 */
export function createFaultChoice(script: Script, serverSpec: FaultSpec, clock: Clock) {
  // One row per seed, so that requests of one test do not move another's.
  const rows = new Map<number, Row>();

  function rowOf(seed: number): Row {
    let row = rows.get(seed);
    if (row === undefined) {
      if (rows.size >= seedsMax) rows.clear();
      row = { chance: seededRandom(seed), count: 0 };
      rows.set(seed, row);
    }
    return row;
  }

  /** With several conditions, each must pick the request. */
  function strikes({ flap, every, alternate, prompt, seed = 1 }: FaultSpec, body: ArrivedBody): boolean {
    if (prompt !== undefined && !contains(body, prompt)) return false;
    if (alternate !== undefined) {
      const odd = Math.floor(clock.wallMs() / alternate.windowMs) % 2 === 1;
      if (odd !== (alternate.first === 'up')) return false;
    }
    if (every !== undefined) {
      const row = rowOf(seed);
      row.count += 1;
      if (row.count % every !== 0) return false;
    }
    return flap === undefined || rowOf(seed).chance.next() < flap;
  }

  function picked(spec: FaultSpec, body: ArrivedBody): FaultSpec {
    if (!strikes(spec, body)) return withoutFailures(spec);
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
      return { ok: true, spec: isConditional(spec) ? picked(spec, sources.body) : spec };
    },
    /** Starts every random row again. */
    clear(): void {
      rows.clear();
    },
  };
}

function isConditional({ flap, every, alternate, prompt }: FaultSpec): boolean {
  return flap !== undefined || every !== undefined || alternate !== undefined || prompt !== undefined;
}

/** The model's name may carry the spec itself, and with it the words. */
function contains(body: ArrivedBody, words: string): boolean {
  return isObject(body) && JSON.stringify({ ...body, model: '' }).includes(words);
}

const healthyChoice: ParsedFaultSpec = { ok: true, spec: healthy };

function modelSpec(model: string): string | null {
  return model.startsWith(modelPrefix) ? model.slice(modelPrefix.length) : null;
}
