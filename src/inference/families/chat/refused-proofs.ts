import { withoutThoughtEdits } from '../../../formats/dialects/anthropic-messages/fit-to-model.ts';
import { blockKinds } from '../../../formats/dialects/anthropic-messages/wire.ts';
import type { CallerDialectId, DialectId } from '../../../formats/dialects/dialect.ts';
import { noSignature } from '../../../formats/dialects/gemini/wire.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { RequestNeeds } from '../../../formats/neutral/request.ts';
import { breaksToolLoop } from '../../../formats/neutral/tool-loop.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, jsonText, listIn, objectsIn } from '../../../kernel/json.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import type { AttemptSeen, Trial } from '../../spine/attempts/trial.ts';

type MadeTrial = Trial | Failure;

/** Texts of a body with proofs of thoughts, by its format. */
export const proofMarks: Partial<Record<DialectId, string>> = {
  'anthropic-messages': '"signature":',
  'openai-responses': '"encrypted_content":',
  gemini: '"thoughtSignature":',
  'bedrock-converse': '"reasoningContent":',
};

/** Words for thoughts that are left out, by the caller's format. */
export const thoughtWords: Partial<Record<CallerDialectId, string>> = {
  'anthropic-messages': 'messages.thinking',
  'openai-responses': 'input.reasoning',
  gemini: 'contents.thought',
};

/**
 * An attempt whose body may have what its upstream refuses: proofs of thoughts that another account, region or model made,
 * or words for how long to think. It is asked once more without. The conversation could not go on otherwise.
 */
export class RefusedTrial implements Trial {
  readonly shows: Trial['shows'];
  readonly #again: (refusal: Fault) => MadeTrial | null | Promise<MadeTrial | null>;
  #call: Trial;
  #stopped = false;

  constructor(first: Trial, again: (refusal: Fault) => MadeTrial | null | Promise<MadeTrial | null>) {
    this.#call = first;
    this.#again = again;
    this.shows = first.shows;
  }

  get signs(): number {
    return this.#call.signs;
  }

  get paused(): boolean {
    return this.#call.paused === true;
  }

  async run(): Promise<Fault | null> {
    const outcome = await this.#call.run();
    if (outcome?.class !== 'caller_fault' || this.#stopped) return outcome;
    const again = await this.#again(outcome);
    if (again === null || isFailure(again) || this.#stopped) return outcome;
    this.#call = again;
    return again.run();
  }

  stop(why: Fault): void {
    this.#stopped = true;
    this.#call.stop(why);
  }

  seen(served: boolean, outcome: Fault | null): AttemptSeen {
    return this.#call.seen(served, outcome);
  }
}

const ofProofs =
  /signature\W+in\W+thinking|thinking\.signature|thinking.{1,80}cannot be modified|thought.?signature|encrypted content.{1,200}could not be (verified|decrypted)/is;

export function refusesProofs({ status, code, message }: Fault): boolean {
  return status === 400 && (code === 'invalid_encrypted_content' || ofProofs.test(message));
}

const ofEffort = /reasoning.?effort|does not support thinking/i;

/** By configuration of a provider, models that refused a word for how long to think, or for not thinking. */
const refusing = new WeakMap<object, Map<string, true>>();
/** No model has refused such a word since the start: then `takesEffort` need not be asked. */
export let allTakeEffort = true;
const refusingMax = 1_000;

const refusedBy = (model: string, { reasoning }: RequestNeeds) => (reasoning ? model : `none ${model}`);

/** False where the model has refused such a word. */
export function takesEffort(config: object, model: string, needs: RequestNeeds): boolean {
  return refusing.get(config)?.has(refusedBy(model, needs)) !== true;
}

/** True if the upstream refuses the word for how long to think. The model does not get it again. */
export function refusesEffort({ message }: Fault, config: object, model: string, needs: RequestNeeds): boolean {
  if (!ofEffort.test(message)) return false;
  allTakeEffort = false;
  const models = refusing.get(config) ?? new Map<string, true>();
  refusing.set(config, models);
  putNewest(models, refusedBy(model, needs), true, refusingMax);
  return true;
}

/** Longer bodies would keep the loop for too long, and are not looked at. */
export const proofBytesMax = 4 * 1024 * 1024;

/** The body without the thoughts of earlier turns. Null: it has none. */
export function withoutProofs(bytes: Buffer | string, dialect: DialectId): string | null {
  const body = JSON.parse(bytes.toString()) as JsonObject;
  const field = dialect === 'openai-responses' ? 'input' : dialect === 'gemini' ? 'contents' : 'messages';
  const list = listIn(body[field]);
  const left = list.map(strip[dialect] ?? ((turn) => turn)).filter((turn) => turn !== null);
  if (left.every((turn, at) => turn === list[at]) && left.length === list.length) return null;
  body[field] = left;
  const { thinking, context_management: management } = body;
  const turns = objectsIn(left).map(({ role, content }) => ({ role: jsonText(role), content: objectsIn(content) }));
  if (isObject(thinking) && thinking.type === 'enabled' && breaksToolLoop(turns, blockKinds)) {
    body.thinking = { type: 'disabled' };
    if (isObject(management)) body.context_management = withoutThoughtEdits(management);
  }
  return JSON.stringify(body);
}

/** A turn or an item without thoughts, by format; null: it has nothing else. */
const strip: Partial<Record<DialectId, (turn: JsonValue) => JsonValue>> = {
  'anthropic-messages': (turn) => withParts(turn, 'content', (block) => (blockKinds.isThought(block) ? null : block)),
  'bedrock-converse': (turn) =>
    withParts(turn, 'content', (block) => (block.reasoningContent === undefined ? block : null)),
  'openai-responses': (item) => {
    if (!isObject(item) || item.type === 'reasoning') return null;
    // "… was provided without its required 'reasoning' item", by its id.
    const { id, ...rest } = item;
    return id !== undefined && /^(message|function_call|custom_tool_call)$/.test(jsonText(item.type)) ? rest : item;
  },
  gemini: (turn) =>
    withParts(turn, 'parts', ({ thoughtSignature: proof, ...part }) => {
      if (part.thought === true) return null;
      if (proof === undefined || part.functionCall === undefined) return part;
      return { ...part, thoughtSignature: noSignature };
    }),
};

function withParts(turn: JsonValue, name: string, fit: (part: JsonObject) => JsonObject | null): JsonValue {
  const parts = isObject(turn) ? turn[name] : null;
  if (!isObject(turn) || !Array.isArray(parts)) return turn;
  const left = parts.map((part) => (isObject(part) ? fit(part) : part)).filter((part) => part !== null);
  return left.length === 0 ? null : { ...turn, [name]: left };
}
