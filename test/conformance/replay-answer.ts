import { setTimeout as pause } from 'node:timers/promises';
import type { Ask, Form, Question } from './callers.ts';
import { forms } from './callers.ts';
import { type Difference, differences, held } from './compare.ts';
import { type Exchange, parsed } from './exchange.ts';
import { dialectIds, type SharedDialectId } from './formats.ts';
import type { Said, SaidError } from './said.ts';
import type { Service } from './services.ts';
import type { World } from './world.ts';

/** How one recorded answer reached one caller. */
export interface Replayed {
  from: string;
  service: string;
  upstream: SharedDialectId;
  recorded: Exchange['form'];
  caller: SharedDialectId;
  form: Form;
  /** Error of the caller's SDK; null when it read an answer. */
  threw: string | null;
  differences: readonly Difference[];
  /** `x-culvert-dropped`; of a stream that lost something after its headers, as its record has it. */
  dropped: string;
  /** A caller of the recording's own format and form fails at the recording itself as well. */
  alsoDirectly: boolean;
}

export type Callers = Readonly<Record<SharedDialectId, Record<Form, Ask>>>;

/** A recorded answer: its contents, and the model to ask for it. */
export interface Recorded<S> {
  exchange: Exchange;
  service: Service;
  model: string;
  said: S;
}

/** Plays an answer to callers of every format, whole and streamed. `directly` ask the player itself. */
export async function replayAnswer(
  world: World,
  callers: Callers,
  directly: Callers,
  recorded: Recorded<Said>,
): Promise<Replayed[]> {
  const { exchange, service, model, said } = recorded;
  const replayed: Replayed[] = [];
  for (const caller of dialectIds) {
    for (const form of forms) {
      const question = questionFor(world.modelOf(service, model), said);
      world.player.play(exchange);
      const got = await hear(callers[caller][form], question, said);
      const heldBack = got.threw !== null || got.differences.length > 0;
      let late = '';
      if (got.threw !== null) await world.forget();
      else {
        const booked = await bookOf(world.gateway, got.requestId);
        late = (booked?.route?.losses ?? []).map(({ field }) => field).join(', ');
        if (said.usage !== null) got.differences.push(...bookedOtherwise(booked, said));
      }
      const own = caller === service.dialect && form === exchange.form;
      replayed.push({
        from: exchange.from,
        service: service.name,
        upstream: service.dialect,
        recorded: exchange.form,
        caller,
        form,
        threw: got.threw,
        differences: got.differences,
        dropped: late || got.dropped,
        alsoDirectly: own && heldBack && (await failsDirectly(directly[caller][form], question, said)),
      });
    }
  }
  return replayed;
}

function questionFor(model: string, { tools, thoughts }: Said): Question {
  const kinds = new Map(tools.map(({ name, custom }) => [name, custom ? ('custom' as const) : ('function' as const)]));
  return { model, tools: [...kinds].map(([name, kind]) => ({ name, kind })), thoughts: thoughts !== '' };
}

async function hear(ask: Ask, question: Question, said: Said) {
  try {
    const { said: heard, dropped, requestId } = await ask(question);
    return { threw: null, differences: differences(said, heard), dropped, requestId };
  } catch (error) {
    return { threw: worded(error), differences: [], dropped: '', requestId: '' };
  }
}

/** The vendor's own bytes, without us: we cannot repair what its SDK cannot read of them. */
async function failsDirectly(ask: Ask, question: Question, said: Said): Promise<boolean> {
  const { threw, differences: found } = await hear(ask, question, said);
  return threw !== null || found.length > 0;
}

/** Whether text, tools and finish arrived. */
export function isEqual({ threw, alsoDirectly, differences: found }: Replayed): boolean {
  if (alsoDirectly) return true;
  return threw === null && !found.some(({ what }) => what !== 'usage' && (held as readonly string[]).includes(what));
}

/** Plays an answer that is an error, in its own form; what each caller heard of it. */
export async function replayError(
  { player, modelOf, forget }: World,
  callers: Callers,
  { exchange, service, model, said }: Recorded<SaidError>,
): Promise<{ caller: SharedDialectId; told: boolean; heard: string }[]> {
  const heard = [];
  for (const caller of dialectIds) {
    player.play(exchange);
    const words = await callers[caller]
      [exchange.form]({ model: modelOf(service, model), tools: [], thoughts: false })
      .then(({ said }) => `an answer: ${JSON.stringify(said)}`, worded);
    heard.push({ caller, told: tells(words, said.error), heard: words });
    await forget();
  }
  return heard;
}

/** Addresses, ids and keys do not go on to callers. */
function tells(heard: string, said: string): boolean {
  const pieces = said.slice(0, 100).split(/'[^' ]*'|https?:\S*|\S*\*\*\S*/);
  return pieces.every((piece) => heard.includes(piece.trim()));
}

/** A request is settled just after its answer has ended. */
const looksMax = 50;

interface Booked {
  usage: { input_tokens: number; output_tokens: number };
  route?: { losses?: readonly { field: string }[] };
}

async function bookOf(gateway: World['gateway'], requestId: string): Promise<Booked | null> {
  for (let looks = 0; looks < looksMax; looks++) {
    const record = (await (await gateway.fetch(`/v1/requests/${requestId}`)).json()) as Partial<Booked>;
    if (record.usage !== undefined) return record as Booked;
    await pause(10);
  }
  return null;
}

function bookedOtherwise(booked: Booked | null, said: Said): Difference[] {
  const before = JSON.stringify(said.usage);
  if (booked === null) return [{ what: 'ledger', said: before, heard: 'no entry' }];
  const { input_tokens: input, output_tokens: output } = booked.usage;
  const after = JSON.stringify({ input, output });
  return before === after ? [] : [{ what: 'ledger', said: before, heard: after }];
}

/** The words of an SDK's error; where it holds the body, its message. */
function worded(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inside = /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(error.message)?.[1];
  const words = inside === undefined ? error.message : (parsed(`"${inside}"`) as string);
  return `${error.constructor.name}: ${words}`.slice(0, 1_000);
}
