import type { Reservation } from '../../books/metering/admission.ts';
import { costMilliOf } from '../../books/metering/settlement.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { PromptMessage } from '../models/prompted-body.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { TargetChoice } from '../models/steps.ts';
import { costHeaders } from './answer.ts';
import type { ServeServices } from './answer-cache.ts';
import { askAgain } from './ask-again.ts';
import { runAttempts } from './attempts/run-attempts.ts';
import { endUserOf } from './end-user.ts';
import type { Endpoint, Plan } from './endpoint.ts';
import { holdCall, newProgress } from './held-call.ts';
import type { Job } from './job.ts';
import type { ModelCall, RunCall } from './model-call.ts';
import { throughPrompt } from './prompted.ts';
import type { RequestBody, RequestFacts } from './request-body.ts';
import { throughRules } from './ruled.ts';
import type { SpineServices } from './services.ts';
import { thenShadow } from './shadow.ts';
import { refuse } from './sink.ts';
import { throughSteps } from './steps/before.ts';
import { FilteredBytes } from './steps/filtered-bytes.ts';
import { GatedBytes } from './steps/gated-bytes.ts';
import { passed } from './steps/refused-answer.ts';
import { throughVariant } from './varied.ts';
import { doWork, type ReadRequest, type WorkEndpoint, type WorkPlan } from './work.ts';

/**
 * The path of a request to any family: read → plan → reserve → attempts → settle, under its Idempotency-Key if it has
 * one. Ends the client's answer in every case, once; rejects only for a fault of ours. Nothing is dispatched before its
 * reservation is committed, and every reservation is settled exactly once, in `finally`.
 */
export async function serve<
  I,
  R extends RequestBody,
  P extends Plan,
  W extends ReadRequest = ReadRequest,
  Q extends WorkPlan = WorkPlan,
>(
  services: ServeServices,
  endpoint: Endpoint<I, R, P> | WorkEndpoint<I, W, Q>,
  receivedCall: ModelCall,
  received: I,
): Promise<void> {
  let call = receivedCall;
  let input = received;
  const { prompts } = services.snapshots.current;
  if (prompts !== null && 'addable' in endpoint && endpoint.addable !== undefined) {
    const prompted = await throughPrompt(prompts, input, endpoint.addable(call, input), (prompt) => {
      call = { ...call, prompt };
      if (call.trace !== null) call.trace.prompt = prompt;
    });
    if (isFailure(prompted)) return refuse(call.sink, prompted, call.admitted.headers);
    input = prompted;
  }
  const reading: R | W | Failure | Promise<R | W | Failure> = endpoint.read(call, input);
  const read = reading instanceof Promise ? await reading : reading;
  if (isFailure(read)) return refuse(call.sink, read, call.admitted.headers);
  let value = read;
  try {
    const snapshot = services.snapshots.current;
    if (snapshot.rules !== null) {
      const sources = { left: services.admission.left, inner: services.inner };
      const ruled = await throughRules<I, R | W, ModelCall>(snapshot, sources, endpoint, call, input, value);
      if (isFailure(ruled)) return refuse(call.sink, ruled, call.admitted.headers);
      ({ call, input, value } = ruled);
    }
    if (snapshot.varies) {
      const varied = await throughVariant<I, R | W>(snapshot, endpoint, call, input, value);
      if (isFailure(varied)) return refuse(call.sink, varied, call.admitted.headers);
      ({ call, input, value } = varied);
    }
    if (snapshot.steps !== null) {
      const again = againOver<I, R, P, W, Q>(services, endpoint);
      const stepped = await throughSteps<I, R | W>(snapshot, endpoint, call, input, value, again);
      if ('refused' in stepped || stepped.input !== input) call.withhold?.();
      if ('refused' in stepped) {
        return refuse(call.sink, stepped.refused, [...call.admitted.headers, ...stepped.headers]);
      }
      ({ call, input, value } = stepped);
    }
    // The compiler does not see that the endpoint's `read` made the value.
    if ('work' in endpoint) {
      const through = filtered(call);
      await doWork(services, endpoint, through, value as W, input);
      return await through.sink.finished;
    }
    const request = value as R;
    const { idempotencyKey: key } = call;
    // A stream is run whatever its key says.
    if (key === null || request.facts.stream) return await run(services, endpoint, call, request, input);
    await runKeyed(services, endpoint, { ...call, key }, request, input, received);
  } finally {
    const released = value.release();
    if (released instanceof Promise) await released;
  }
}

/** Runs once for each key: the body that came decides whether two are the same, before rules and guards change it. */
async function runKeyed<I, R extends RequestBody, P extends Plan>(
  services: ServeServices,
  endpoint: Endpoint<I, R, P>,
  { key, ...call }: ModelCall & { key: string },
  request: R,
  input: I,
  received: I,
): Promise<void> {
  const { sink, requestId, admitted, principal } = call;
  const { tenant } = principal;
  const body = await endpoint.content(received);
  const keyed = { key, tenant, endpoint: endpoint.id, requestId, body, sink, headers: admitted.headers };
  await services.idempotency.once(keyed, (answer) =>
    run(services, endpoint, { ...call, client: answer, sink: answer }, request, input),
  );
}

/** Lets steps ask the model of a conversation once more. */
function againOver<I, R extends RequestBody, P extends Plan, W extends ReadRequest, Q extends WorkPlan>(
  services: ServeServices,
  endpoint: Endpoint<I, R, P> | WorkEndpoint<I, W, Q>,
) {
  if (!('addable' in endpoint) || endpoint.addable === undefined) return undefined;
  const snapshot = services.snapshots.current;
  const run = { services, endpoint, snapshot, runPlan: planRunner(services, endpoint, snapshot) };
  return (call: ModelCall, input: I, turns: readonly PromptMessage[]) => askAgain(run, call, input, turns);
}

/** For calls that Culvert makes of a caller's. */
function planRunner(
  services: SpineServices,
  endpoint: Pick<Endpoint<never, RequestBody>, 'id' | 'cost'>,
  snapshot: Snapshot,
) {
  return (call: ModelCall, plan: Plan, { facts }: RequestBody, attempts: (job: Job) => Promise<void>) =>
    runPlan(services, endpoint, { snapshot, call, plan, facts }, attempts);
}

/** A call whose answer passes the filters of its texts. */
function filtered(call: ModelCall): ModelCall {
  const { answerTexts, gate } = call;
  if (answerTexts === undefined && gate === undefined) return call;
  const sink = answerTexts === undefined ? call.sink : new FilteredBytes(call.sink, answerTexts);
  const judge = gate?.judge ?? null;
  return { ...call, sink: judge === null ? sink : new GatedBytes(sink, judge) };
}

/** From the model on. */
async function run<I, R extends RequestBody, P extends Plan>(
  services: ServeServices,
  endpoint: Endpoint<I, R, P>,
  received: ModelCall,
  request: R,
  input: I,
): Promise<void> {
  const filteredCall = endpoint.filters === undefined ? filtered(received) : received;
  const { sink, admitted, callerHeaders } = filteredCall;
  let snapshot = services.snapshots.current;
  if (snapshot.pricing !== null) {
    await snapshot.pricing;
    snapshot = services.snapshots.current;
  }
  const planning = endpoint.plan(snapshot, filteredCall, request);
  const made = planning instanceof Promise ? await planning : planning;
  const planned =
    filteredCall.chooses === undefined || isFailure(made) ? made : await withChosen(filteredCall.chooses, made);
  if (isFailure(planned)) return refuse(sink, planned, admitted.headers);
  filteredCall.planned?.(planned.alias.id);

  const isCached = planned.alias.cache !== undefined || callerHeaders['x-culvert-cache'] !== undefined;
  if (isCached && filteredCall.gate?.request != null) {
    // Others may share the answer, or it is there: nobody would wait at a gate.
    const refused = await filteredCall.gate.request;
    if (refused !== null) return refuse(sink, refused, admitted.headers);
  }
  const turn = isCached
    ? await services.cache.enter(services, endpoint, { call: filteredCall, snapshot, request, plan: planned }, input)
    : null;
  if (turn === 'answered') return;
  const { call, plan } = turn ?? { call: filteredCall, plan: planned };
  let refused: Failure | null = null;
  try {
    refused = await runPlan(services, endpoint, { snapshot, call, plan, facts: request.facts }, (job) => {
      const trials = endpoint.trials({ call, snapshot, request, plan }, job);
      if (plan.form === 'events') call.delivery.expect([...costHeaders(job), ...(call.stepHeaders?.() ?? [])]);
      const running = trials.run === undefined ? runAttempts(services, job, trials) : trials.run();
      const ran = filteredCall === received ? running : passed(running, job, sink);
      const { shadow } = plan.alias;
      // A line at a provider is not asked here, so nothing of it can be compared.
      if (shadow === undefined || call.batched !== undefined) return ran;
      const planned = { call, snapshot, request, plan };
      return thenShadow(ran, shadow, {
        services,
        endpoint,
        planned,
        input,
        runPlan: planRunner(services, endpoint, snapshot),
      });
    });
    if (refused !== null) refuse(sink, refused, admitted.headers);
    if (filteredCall.gate !== undefined) await sink.finished;
  } finally {
    turn?.end(refused);
  }
}

/** A request that is decided on. */
export interface PlannedCall {
  snapshot: Snapshot;
  call: RunCall & Pick<ModelCall, 'clientRequestId' | 'admitted' | 'tag'>;
  plan: Plan;
  facts: Pick<RequestFacts, 'user' | 'tag' | 'session'>;
}

/** Reserves, runs the attempts and settles. The failure of the reservation; null: there was one. */
export async function runPlan(
  services: SpineServices,
  endpoint: Pick<Endpoint<never, RequestBody>, 'id' | 'cost'>,
  { snapshot, call, plan, facts: { user: named, tag = null, session = null } }: PlannedCall,
  run: (job: Job) => Promise<void>,
): Promise<Failure | null> {
  const { alias, charged, calls, query } = plan;
  const { user = call.callerHeaders['x-culvert-user'] === undefined ? named : endUserOf(call, named) } = call.principal;
  const held = await holdCall(services, call, {
    endpoint: endpoint.id,
    alias: alias.id,
    tier: charged.tier,
    costMilli: costMilliOf(snapshot.config.costs, endpoint.cost, charged.cost, calls),
    inputTokensEstimate: query.needs.inputTokensEstimate,
    user,
    tag,
    furtherModels: charged.furtherModels,
  });
  if (held.kind !== 'held') return held;
  const job = jobOf(snapshot, endpoint.id, call, plan, held.reserved, { user, tag, session });
  job.held = held;
  try {
    await run(job);
  } finally {
    const done = job.progress.calls;
    held.settle(job, done === calls ? undefined : (held.reserved.costMilli / calls) * done);
    for (const giveBack of job.atEnd ?? []) giveBack();
  }
  return null;
}

/** Job for the attempts at a reserved request. */
export function jobOf(
  { providers }: Snapshot,
  endpoint: string,
  { principal, client, sink, atMs, startedMs, preferences, callerHeaders, trace, attempted }: RunCall,
  { alias, query, form, bound = null, given = null, calls, headers }: Omit<Plan, 'charged'>,
  { requestId, headers: limits, costMilli }: Reservation,
  { user, tag = null, session = null }: Pick<RequestFacts, 'user' | 'tag' | 'session'>,
): Job {
  return {
    requestId,
    endpoint,
    tenant: principal.tenant,
    trace,
    query,
    user,
    tag,
    session,
    variant: alias.variant ?? null,
    client,
    sink,
    stream: form !== 'whole',
    inputTokensEstimate: query.needs.inputTokensEstimate,
    atMs,
    startedMs,
    deadlineMs: startedMs + Math.min(alias.totalMs, preferences.timeoutMs ?? alias.totalMs),
    isCallersDeadline: preferences.timeoutMs !== null && preferences.timeoutMs < alias.totalMs,
    headers: headers === undefined ? limits : [...limits, ...headers],
    costMilli,
    callerHeaders,
    providers,
    bound,
    given,
    attempted,
    attemptsMade: null,
    atEnd: [],
    progress: newProgress(calls),
  };
}

/** A plan with the targets that steps choose, in their order. */
async function withChosen<P extends Plan>(
  chooses: (targets: readonly string[]) => Promise<TargetChoice>,
  plan: P,
): Promise<P | Failure> {
  const { targets } = plan.query;
  const names = targets.map(({ target }) => `${target.provider}/${target.model}`);
  const chosen = await chooses([...new Set(names)]);
  if (chosen === null) return plan;
  if (isFailure(chosen)) return chosen;
  // Each is tried after all targets before it.
  const ordered = chosen.flatMap((name, rank) =>
    targets.filter((_, at) => names[at] === name).map((candidate) => ({ ...candidate, rank })),
  );
  const { prefer: _, ...query } = plan.query;
  return { ...plan, chosen, query: { ...query, targets: ordered } };
}
