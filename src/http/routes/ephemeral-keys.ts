import type { Principal } from '../../books/auth/principal.ts';
import { type RunKey, type RunKeys, runLengthMax } from '../../books/auth/run-keys.ts';
import { guestPrefixes } from '../../books/auth/tokens/token-caller.ts';
import { nanoUsd } from '../../books/metering/counter-scope.ts';
import type { Limit } from '../../books/metering/counters.ts';
import type { PlanBook } from '../../books/metering/plan-book.ts';
import type { JsonSchema } from '../../formats/neutral/described-check.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { refuse } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, forbidden, invalid, isFailure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { isWhole, type JsonObject } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { admittedOf, callerOf, type Exchange, type Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';

export interface EphemeralKeyParts {
  runs: RunKeys;
  plans(): PlanBook;
  readonly snapshots: { readonly current: Pick<Snapshot, 'models'> };
  clock: Pick<Clock, 'wallMs'>;
}

const bodyBytesMax = 64 * 1024;
const minutes = { most: 1_440, usual: 60 } as const;
const modelsMax = 100;
const usdMax = 5_000_000;
const rpmMax = 1_000_000;

/** `POST /v1/keys/ephemeral`: a key for one run of an agent. */
export function ephemeralKeyRoute(parts: EphemeralKeyParts): Route {
  return keyRoute('POST /v1/keys/ephemeral', 'one', {
    endpoint: 'keys.ephemeral',
    body: { schema },
    summary: 'A key for one run: for minutes, some models and some USD',
    handle: (exchange) => answer(parts, exchange),
  });
}

function schema(): JsonSchema {
  return {
    type: 'object',
    properties: {
      minutes: {
        type: 'integer',
        minimum: 1,
        maximum: minutes.most,
        default: minutes.usual,
        description: 'How long it works.',
      },
      models: {
        type: 'array',
        items: { type: 'string' },
        description: 'Models it may use. Default: all of the key that makes it.',
      },
      usd: { type: 'number', description: 'USD it may spend. Default: what the key that makes it may.' },
      rpm: { type: 'integer', minimum: 1, description: 'Its requests in any 60 seconds.' },
    },
  };
}

async function answer(parts: EphemeralKeyParts, exchange: Exchange): Promise<void> {
  const { client, principal } = exchange;
  const { headers } = admittedOf(exchange);
  const refused = (failure: Failure) => refuse(client, failure, headers);
  const caller = callerOf({ principal });
  if (caller.run !== undefined) return refused(ofRun);
  if (guestPrefixes.some((prefix) => caller.keyId.startsWith(prefix))) return refused(ofGuest);
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return;
  const read = Buffer.isBuffer(raw) ? readKeyOptions(raw) : raw;
  if (isFailure(read)) return refused(read);
  const beyond = modelsBeyond(parts, caller, read.models) ?? limitsBeyond(parts, caller, read);
  if (beyond !== null) return refused(beyond);
  const expiresS = Math.floor(parts.clock.wallMs() / 1_000) + read.minutes * 60;
  const run = { ...read, id: randomBase62(16), keyId: caller.keyId, expiresMs: expiresS * 1_000 };
  const key = parts.runs.issue(run);
  if (key === null)
    return refused(invalid('models', `models: their names make a key longer than ${runLengthMax} characters.`));
  const { id, models, usd, rpm } = run;
  const body = { id, object: 'ephemeral_key', key, expires_at: expiresS, models: models && [...models], usd, rpm };
  writeJson(exchange, 200, body, headers);
}

const ofRun = forbidden('A key of a run makes no further keys. Ask with the key that made it.');

const ofGuest = forbidden(
  'A caller without a key of this server makes no further keys. Ask with a key of this server.',
);

type KeyOptions = Pick<RunKey, 'models' | 'usd' | 'rpm'> & { minutes: number };

function readKeyOptions(raw: Buffer): KeyOptions | Failure {
  const parsed = raw.length === 0 ? { body: {} as JsonObject } : parseObject(raw);
  if (isFailure(parsed)) return parsed;
  const { minutes: life = minutes.usual, models = null, usd = null, rpm = null, ...others } = parsed.body;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return invalid(unknown, `${unknown} is unknown: expected minutes, models, usd or rpm.`);
  if (!isWhole(life, 1, minutes.most))
    return invalid('minutes', `minutes must be a whole number from 1 to ${minutes.most}.`);
  if (usd !== null && !(typeof usd === 'number' && usd > 0 && usd <= usdMax)) {
    return invalid('usd', `usd must be a number above 0, at most ${usdMax}.`);
  }
  if (rpm !== null && !isWhole(rpm, 1, rpmMax))
    return invalid('rpm', `rpm must be a whole number from 1 to ${rpmMax}.`);
  if (models === null) return { minutes: life, models, usd, rpm };
  if (!Array.isArray(models) || models.length === 0 || models.length > modelsMax) {
    return invalid('models', `models must be a list of 1 to ${modelsMax} names of models.`);
  }
  const wrong = models.findIndex((name) => typeof name !== 'string' || name === '');
  if (wrong !== -1) return invalid(`models[${wrong}]`, `models[${wrong}] must be the name of a model.`);
  return { minutes: life, models: [...new Set(models as string[])], usd, rpm };
}

function modelsBeyond(
  { snapshots, clock }: EphemeralKeyParts,
  caller: Principal,
  models: KeyOptions['models'],
): Failure | null {
  for (const [at, name] of (models ?? []).entries()) {
    const alias = snapshots.current.models.resolve(name, caller);
    if (isFailure(alias)) return invalid(`models[${at}]`, `models[${at}]: ${factsOf(alias, clock.wallMs()).message}`);
  }
  return null;
}

/** A key of a run that may do more than its parent would only mislead. */
function limitsBeyond({ plans }: EphemeralKeyParts, caller: Principal, { usd, rpm }: KeyOptions): Failure | null {
  const { calls, windows } = plans().limits(caller, null);
  const least = (limits: readonly Limit[]) => Math.min(...limits.map(({ allowed }) => allowed));
  const usdNano = least(windows.filter(({ measure }) => measure === 'usd'));
  if (usd !== null && nanoUsd(usd) > usdNano) {
    return invalid('usd', `usd: this key may spend at most ${usdNano / 1e9} USD itself.`);
  }
  const callMilli = least(calls);
  if (rpm !== null && rpm * 1_000 > callMilli) {
    return invalid('rpm', `rpm: this key may make at most ${callMilli / 1_000} requests in a minute itself.`);
  }
  return null;
}
