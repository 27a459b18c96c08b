import { setTimeout as pause } from 'node:timers/promises';
import { responseObject } from '../../../formats/dialects/openai-responses/response-object.ts';
import { every } from '../../../kernel/every.ts';
import { type Failure, FailureError, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NamedRuns, ShareRuns } from '../../../kernel/sharing/shared-runs.ts';
import { createTurns } from '../../../kernel/sharing/turns.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { serve } from '../../spine/serve.ts';
import { BackgroundRun } from './background-run.ts';
import { type ResponsesEndpoint, responsesEndpoint } from './endpoint.ts';
import { conversationNotFound, expanded, previousNotFound } from './expand.ts';
import { storedItems } from './input-items.ts';
import { keepsFor, notStored } from './keeps-for.ts';
import { cancelledResponse, hasEnded, interruptedResponse } from './response-states.ts';
import type { StoredItem } from './sealed-rows.ts';
import type { ResponsesServices } from './services.ts';
import { saltOfId } from './stored-responses.ts';

/** Responses that run without their callers. */
export interface BackgroundRuns {
  /**
   * Keeps a response as queued and runs it when its tenant's turn comes. Its place among the running requests of its key
   * is held until it has ended. Throws a FailureError when it is refused; `refused` is called when that happens later.
   */
  begin(call: ModelCall, body: JsonObject, refused: (failure: Failure) => void): Promise<BackgroundRun>;
  /** One that runs in this process. */
  find(tenant: string, id: string): BackgroundRun | null;
  /** Background responses that run in other processes of this server. */
  elsewhere: NamedRuns;
  /**
   * The response as it is after the cancelling. Throws a FailureError for one that is no background response, or not
   * there (null).
   */
  cancel(tenant: string, id: string): Promise<JsonObject | null>;
  /** Stops all, each kept as failed. */
  close(): Promise<void>;
}

/** Runs at once in this process, and those that wait, whose bodies are in memory. */
const runsMax = 64;
const waitingMax = 1_024;
const waitingBytesMax = 256 * 1024 * 1024;
/** How often it is looked whether another replica has cancelled a response, or a caller has deleted it. */
const lookIntervalMs = 1_000;
const writeTriesMax = 30;
const writeRetryMs = 1_000;
/** When the server stops; the next process knows of those without an end that they run no more. */
const stopTriesMax = 3;

const nowhere: NamedRuns = { framesOfRun: async () => [], cancelRun: async () => undefined };

/** `share` is absent where this is the only process. */
export function openBackgroundRuns(services: ResponsesServices, share: ShareRuns = () => nowhere): BackgroundRuns {
  const { responses, clock, onTrouble } = services;
  const endpoint = responsesEndpoint(services);
  const turns = createTurns({ name: 'Background responses', places: runsMax, waitingMax, waitingBytesMax });
  const runs = new Map<string, Running>();
  let stopLooking: (() => void) | null = null;
  let triesMax = writeTriesMax;

  const elsewhere = share({
    framesOfRun: async (tenant, id, after) => runs.get(keyOf(tenant, id))?.run.framesBehind(after) ?? [],
    cancelRun: (tenant, id) => cancelled(runs.get(keyOf(tenant, id))),
  });

  async function look(): Promise<void> {
    const unfinished = [...runs.values()]
      .filter(({ run }) => !run.ended)
      .map(({ run: { tenant, id } }) => ({ tenant, id }));
    for (const { tenant, id } of await responses.stopped(unfinished)) void cancelled(runs.get(keyOf(tenant, id)));
    if (runs.size > 0) return;
    stopLooking?.();
    stopLooking = null;
  }

  async function begin(call: ModelCall, body: JsonObject, refused: (failure: Failure) => void): Promise<BackgroundRun> {
    const { tenant } = call.principal;
    const { previous, conversation, stateless } = await statelessRequest(services, endpoint, call, body);
    const read = await endpoint.read(call, stateless);
    if (isFailure(read)) throw new FailureError(read);
    const plan = await endpoint.plan(services.snapshots.current, call, read);
    await read.release();
    if (isFailure(plan)) throw new FailureError(plan);
    const stop = new AbortController();
    const place = turns.take(tenant, stop.signal, stateless.length);
    // Rejected already when too many wait.
    await Promise.race([place, undefined]);
    const id = `resp_${call.requestId.slice(4)}`;
    const facts = { id, createdS: Math.floor(call.atMs / 1_000), model: plan.alias.id, echo: read.facts.echo };
    const response: JsonObject = {
      ...responseObject({ ...facts, output: [], usage: null }, { status: 'in_progress' }),
      status: 'queued',
      background: true,
      store: true,
      previous_response_id: previous,
      ...(conversation !== null && { conversation: { id: conversation } }),
    };
    const input = storedItems(body.input, saltOfId(call.requestId));
    try {
      await responses.put(tenant, { id, previous, conversation, input, response, runs: true });
    } catch (error) {
      stop.abort();
      place.then((turn) => turn.giveBack()).catch(() => undefined);
      throw error;
    }
    const run = new BackgroundRun({ id, tenant, requestId: call.requestId, response, nowMs: clock.wallMs });
    const done = follow();
    runs.set(keyOf(tenant, id), { run, stop, done });
    stopLooking ??= every(lookIntervalMs, () => void look().catch(() => undefined));
    return run;

    async function follow(): Promise<void> {
      try {
        const turn = await place;
        try {
          const full = await services.storage.mayKeep(call.principal.account);
          if (full === null) await runNow(call, run, stateless);
          else run.end({ failure: full, headers: [] });
        } finally {
          turn.giveBack();
        }
      } catch (error) {
        if (!stop.signal.aborted) onTrouble(`the background response ${id} failed: ${String(error)}`);
        run.end({ failure: { kind: 'internal' }, headers: [] });
      } finally {
        if (run.failure !== null && call.admitted.booked !== true) refused(run.failure);
        call.admitted.release();
        await keepEnd(services, run, { conversation, input, triesMax: () => triesMax });
        runs.delete(keyOf(tenant, id));
      }
    }
  }

  async function runNow(call: ModelCall, run: BackgroundRun, raw: Buffer): Promise<void> {
    const { tenant, id } = run;
    run.response = { ...run.response, status: 'in_progress' };
    const begun = { id, conversation: null, input: [], response: run.response };
    if (!(await responses.change(tenant, { ...begun, end: 'runs on' }))) return run.cancel();
    const now = { atMs: clock.wallMs(), startedMs: clock.monotonicMs() };
    const served = { ...call, ...now, delivery: run, client: run, sink: run, idempotencyKey: null, trace: null };
    await serve(services, endpoint, served, raw);
  }

  return {
    begin,
    elsewhere,
    find: (tenant, id) => runs.get(keyOf(tenant, id))?.run ?? null,
    async cancel(tenant, id) {
      const stored = await responses.find(tenant, id);
      if (stored === null) return null;
      if (stored.response.background !== true) throw new FailureError(notInBackground);
      if (hasEnded(stored.status)) return stored.response;
      const running = runs.get(keyOf(tenant, id));
      await (running === undefined ? elsewhere.cancelRun(tenant, id) : cancelled(running));
      // Changes nothing where it has ended by that: otherwise another replica runs it, or nobody.
      const response = cancelledResponse(stored.response);
      await responses.change(tenant, { id, conversation: null, input: [], response, end: { frames: null } });
      return (await responses.find(tenant, id))?.response ?? null;
    },
    async close() {
      stopLooking?.();
      triesMax = stopTriesMax;
      const all = [...runs.values()];
      for (const { run, stop } of all) {
        run.interrupt(interruptedResponse(run.response));
        stop.abort();
      }
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

interface Running {
  run: BackgroundRun;
  stop: AbortController;
  done: Promise<void>;
}

/** Cancels it, if it runs here, and resolves at its end. */
async function cancelled(running: Running | undefined): Promise<void> {
  running?.run.cancel();
  running?.stop.abort();
  await running?.done;
}

const notInBackground = invalid(null, 'Only a response that was created with "background": true can be cancelled.');

/** Keeps how a run ended; tries again for a while. Never rejects. */
async function keepEnd(
  { responses, onTrouble }: ResponsesServices,
  run: BackgroundRun,
  { conversation, input, triesMax }: { conversation: string | null; input: StoredItem[]; triesMax(): number },
): Promise<void> {
  const { tenant, id, response } = run;
  // Nothing of what came to no end belongs to the conversation.
  const whole = response.status === 'completed' || response.status === 'incomplete';
  const end = { frames: run.frames?.join('') ?? null };
  const change = { id, conversation: whole ? conversation : null, input, response, end };
  for (let tries = 1; ; tries++) {
    try {
      await responses.change(tenant, change);
      return;
    } catch (error) {
      if (tries < triesMax()) await pause(writeRetryMs, undefined, { ref: false });
      else return onTrouble(`the end of the background response ${id} could not be kept: ${String(error)}`);
    }
  }
}

function keyOf(tenant: string, id: string): string {
  return `${tenant} ${id}`;
}

/**
 * A request that runs without its caller: as a stream, of which nothing is kept, with all that it continues. Throws a
 * FailureError for what cannot be asked so.
 */
async function statelessRequest(
  services: ResponsesServices,
  endpoint: ResponsesEndpoint,
  call: ModelCall,
  body: JsonObject,
) {
  const { principal } = call;
  const why = keepsFor(services.snapshots.current, principal)
    ? await services.storage.mayKeep(principal.account)
    : notStored;
  if (why !== null) throw new FailureError(why);
  if (body.store === false) throw new FailureError(needsStore);
  // Providers take such options for runs at the provider alone.
  const { background: _, background_options: __, ...rest } = body;
  const raw = Buffer.from(JSON.stringify({ ...rest, stream: true, store: false }));
  // Its check names what is wrong before anything is looked up.
  const read = await endpoint.read(call, raw);
  if (isFailure(read)) throw new FailureError(read);
  await read.release();
  const { previous = null, conversation = null } = read.turn ?? {};
  if (previous === null && conversation === null) return { previous, conversation, stateless: raw };
  const { body_limit: bytesMax } = services.snapshots.current.config.server;
  const whole = await expanded(services.responses, principal.tenant, raw, { previous, conversation }, bytesMax);
  if (whole === null) throw new FailureError(notHere(previous, conversation));
  if (isFailure(whole)) throw new FailureError(whole);
  return { previous, conversation, stateless: whole };
}

const needsStore = invalid('store', "A response in the background is kept: leave 'store' out, or send true.");

/** Failure of a request that continues what a provider keeps: it cannot be continued here either. */
function notHere(previous: string | null, conversation: string | null): Failure {
  return previous === null ? conversationNotFound(conversation!, 'conversation') : previousNotFound();
}
