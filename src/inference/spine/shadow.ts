import { type Principal, serverPrincipal } from '../../books/auth/principal.ts';
import { newRequestId } from '../../kernel/ids.ts';
import type { Shadow } from '../models/alias.ts';
import { BufferedAnswer } from './buffered-answer.ts';
import type { Endpoint, Plan, PlannedRequest } from './endpoint.ts';
import { admittedBefore, type ModelCall } from './model-call.ts';
import type { RequestBody } from './request-body.ts';
import { type DerivedRun, runDerived } from './run-derived.ts';

/** Maximum number of concurrent ones of one model; requests beyond it have no shadow. */
const atOnceMax = 16;
const running = new WeakMap<Shadow, number>();

/** Account and key of shadows in the ledger. As that of `serverPrincipal`, no operator can give this name. */
const shadowName = '(shadow)';

interface Shadowed<I, R extends RequestBody, P extends Plan> extends Omit<DerivedRun<I, R, P>, 'snapshot'> {
  planned: PlannedRequest<R, P> & { call: ModelCall };
  /** After prompts, variants and guards changed it. */
  input: I;
}

/**
 * A share of a model's requests is sent elsewhere as well, when the caller's answer has ended: it neither delays nor fails it.
 * Nobody gets the shadow's answer, and nothing of it is kept. Requests that use tools of this server have none.
 */
export async function thenShadow<I, R extends RequestBody, P extends Plan>(
  ran: Promise<void>,
  shadow: Shadow,
  shadowed: Shadowed<I, R, P>,
): Promise<void> {
  await ran;
  const { services, endpoint, planned, input } = shadowed;
  const atOnce = running.get(shadow) ?? 0;
  if (atOnce >= atOnceMax || services.random.next() >= shadow.share) return;
  if (!Buffer.isBuffer(input)) return;
  const { alias, query } = planned.plan;
  const targetIds = new Set(alias.candidates.map(({ target }) => target.id));
  // The fallbacks that its caller named would answer in the place of what is tried.
  if (query.targets.some(({ target }) => !targetIds.has(target.id))) return;
  // The body's memory is given back with its request.
  const copy = dependsOnRequestAlone(endpoint, planned.request)
    ? Buffer.from(input)
    : (endpoint.unkept?.(planned.request) ?? null);
  if (copy === null) return;
  running.set(shadow, atOnce + 1);
  void ask(shadow, shadowed, copy as I & Buffer)
    // What goes wrong with a shadow is in its record.
    .catch(() => {})
    .finally(() => running.set(shadow, (running.get(shadow) ?? 1) - 1));
}

/** True if the request alone says what its answer depends on, and nothing of it is kept. */
function dependsOnRequestAlone<I, R extends RequestBody, P extends Plan>(
  { keeps }: Endpoint<I, R, P>,
  request: R,
): boolean {
  return (keeps?.(request) ?? null) !== null;
}

async function ask<I, R extends RequestBody, P extends Plan>(
  shadow: Shadow,
  { services, endpoint, planned: { call: callers, snapshot }, runPlan }: Shadowed<I, R, P>,
  input: I,
): Promise<void> {
  // A check that ran concurrently with the caller's answer may have refused the request.
  if (callers.gate?.request != null && (await callers.gate.request) !== null) return;
  const client = new BufferedAnswer();
  const atMs = services.clock.wallMs();
  const call: ModelCall = {
    requestId: newRequestId(atMs),
    clientRequestId: callers.requestId,
    trace: null,
    tag: callers.tag,
    principal: operator(callers.principal),
    admitted: { ...admittedBefore, isOwed: true },
    atMs,
    startedMs: services.clock.monotonicMs(),
    delivery: client,
    client,
    sink: client,
    callerHeaders: {},
    preferences: { ...callers.preferences, timeoutMs: null },
    idempotencyKey: null,
    variant: shadow.alias,
  };
  const run = { services, endpoint, snapshot, runPlan };
  await runDerived(
    run,
    call,
    input,
    (request, { alias }) => alias === shadow.alias && dependsOnRequestAlone(endpoint, request),
  );
}

/** The plan is the caller's for what it says of models; nothing counts against it. */
function operator({ plan }: Principal): Principal {
  const names = { keyId: shadowName, keyName: shadowName, tenant: `${shadowName}/${shadowName}`, account: shadowName };
  return { ...serverPrincipal, ...names, plan };
}
