import type { DialectId } from '../formats/dialects/dialect.ts';
import type { ImageModelFacts } from '../formats/media/images/format.ts';
import type { ImageNeeds } from '../formats/neutral/image.ts';
import { sizeText, whyNotSize } from '../formats/neutral/image-size.ts';
import type { RequestNeeds } from '../formats/neutral/request.ts';
import type { Timestamps, TranscriptionNeeds } from '../formats/neutral/transcript.ts';
import { culvert } from '../kernel/command-form.ts';
import { type Failure, invalid } from '../kernel/failure.ts';
import type { Health } from './health.ts';
import type { Lane, LaneState, Standing } from './lane.ts';
import { hashText, type Pickable } from './pick.ts';
import type { RouteCandidate, RouteQuery } from './route.ts';
import type { Target, TranscriptionTarget } from './target.ts';

/** The dialect for a caller of `callerDialect`: the same, when the target speaks it. */
export function dialectFor(target: Pick<Target, 'dialect' | 'alsoSpeaks'>, callerDialect: string): DialectId {
  return target.alsoSpeaks?.find((dialect) => dialect === callerDialect) ?? target.dialect;
}

/** Whether one of them is asked in the caller's own format. */
export function oneSpeaks(callerDialect: string, candidates: readonly RouteCandidate[]): boolean {
  return candidates.some(({ target }) => dialectFor(target, callerDialect) === callerDialect);
}

/** A size estimate (bytes / 4) may be this far off: only requests that are surely too long are kept away. */
const contextSurelyFull = 1.25;
/** Above this part of the context window, input and output together may not fit: roomier targets go first. */
const contextTight = 0.9;
/** Part of the allowed output that counts for tightness; agents ask for 32,000 and use hundreds. */
const outputReserveMax = 4_096;

/**
 * Needs of the request that the target cannot meet, as words for people; null when it is capable. Not filtered, because
 * conversion has an answer: `n` (asked several times), reasoning effort (dropped and listed), too many output tokens
 * (clamped), and JSON schema when a forced tool call can replace it. The length of the input is an estimate: see
 * `unmetSize`.
 */
export function unmetNeed(target: Target, needs: RequestNeeds): string | null {
  const can = target.capabilities;
  if (needs.vision && !can.vision) return 'vision';
  if (needs.tools && !can.tools) return 'tools';
  if (needs.audioIn && !can.audioIn) return 'audio input';
  if (needs.files === true && !can.files) return 'files such as PDFs';
  if (needs.logprobs && !can.logprobs) return 'logprobs';
  if (needs.jsonSchema && !can.jsonSchema && !can.tools) return 'JSON schema';
  if (needs.embedding !== undefined) return unmetEmbedding(target, needs.embedding);
  if (needs.image !== undefined) return unmetImage(target.image, needs.image);
  if (needs.transcription !== undefined) return unmetTranscription(target.transcription, needs.transcription);
  return null;
}

/**
 * That the target's context is surely too small, as words for people; else null. An estimate keeps a request from targets
 * that may be too small for it as long as there is a larger one; it never refuses alone.
 */
export function unmetSize({ contextWindow: window }: Target, needs: RequestNeeds): string | null {
  if (needs.embedding !== undefined || needs.image !== undefined || needs.transcription !== undefined) return null;
  if (window !== null && needs.inputTokensEstimate > window * contextSurelyFull) {
    return `about ${needs.inputTokensEstimate} input tokens (its context holds ${window})`;
  }
  return null;
}

/** The upstream judges how long each input may be: some cut longer ones. */
function unmetEmbedding(
  { embedding: can }: Target,
  { inputs, dimensions }: NonNullable<RequestNeeds['embedding']>,
): string | null {
  if (can === undefined) return 'embeddings';
  if (inputs === 'tokens' && !can.takesTokens) return 'token input';
  if (dimensions !== null && dimensions !== can.dimensions && can.resizes === 'never') {
    return `dimensions: ${dimensions}`;
  }
  return null;
}

/**
 * Candidates with equal numbers are one tier; lower tiers are tried first: the alias's own before fallbacks, then those
 * that do the request unchanged (native `n`, room in the context), then by priority, then without clamping.
 */
export function tierOf({ target, rank, awkward }: RouteCandidate, needs: RequestNeeds): number {
  const { contextWindow: window, maxOutputTokens: outputMax, capabilities } = target;
  const splits = needs.n > 1 && !capabilities.nativeN;
  const isLast = awkward === true || splits || (window !== null && isTight(window, needs)) ? 1 : 0;
  const clamps = outputMax !== null && needs.maxOutputTokens !== null && needs.maxOutputTokens > outputMax ? 1 : 0;
  return rank * 4e6 + isLast * 2e6 + Math.min(target.priority, priorityMax) * 2 + clamps;
}

/** Beyond it priorities are one tier. */
const priorityMax = 999_999;

function isTight(window: number, needs: RequestNeeds): boolean {
  if (needs.embedding !== undefined || needs.image !== undefined) return false;
  const reserve = Math.min(needs.maxOutputTokens ?? 0, outputReserveMax);
  return needs.inputTokensEstimate + reserve > window * contextTight;
}

/**
 * Needs of an image request that a target cannot meet, as words for people that begin with the field. Targets that
 * would make another image of it are kept away; preferences such as `quality` and `style` are dropped and listed
 * instead.
 */
export function unmetImage(can: ImageModelFacts | undefined, needs: ImageNeeds): string | null {
  if (can === undefined) return 'pictures';
  const { size, transparent, outputFormat, edit } = needs;
  if (edit !== null) {
    if (can.edits === undefined) return 'changing pictures';
    const { picturesMax, mask, bytesMax } = can.edits;
    if (edit.pictures > picturesMax) return `pictures to change: ${edit.pictures} (it takes ${picturesMax})`;
    if (bytesMax !== undefined && edit.bytes > bytesMax) {
      return `pictures to change: ${edit.bytes} bytes (it takes ${bytesMax})`;
    }
    if (edit.mask && !mask) return 'mask';
    if (edit.markup && can.format !== 'openai') return 'markup';
  }
  if (size !== null) {
    const why = whyNotSize(can.sizes, size);
    if (why !== null) return `size: ${sizeText(size)} (it ${why})`;
  }
  if (transparent && can.transparent === false) return 'background: transparent';
  if (outputFormat !== null && can.outputs?.includes(outputFormat) === false) return `output_format: ${outputFormat}`;
  return null;
}

/** The part that the target cannot do, in words for people; null when it can do all. */
function unmetTranscription(can: TranscriptionTarget | undefined, needs: TranscriptionNeeds): string | null {
  if (can === undefined) return 'transcription';
  if (needs.task === 'translate' && !can.translates) return 'translation';
  if (needs.speakers && !can.speakers) return 'response_format: diarized_json';
  if (rank[needs.timestamps] > rank[can.timestamps]) return `times: of ${needs.timestamps}`;
  if (can.fileBytesMax !== null && needs.fileBytes > can.fileBytesMax) {
    return `file: of more than ${Math.floor(can.fileBytesMax / 1024 / 1024)} MB`;
  }
  return null;
}

const rank = { none: 0, segments: 1, words: 2 } as const satisfies Record<Timestamps, number>;

/** A model by whichever name callers have for it. */
export interface NamedModel {
  id: string;
  type: string;
  candidates: readonly RouteCandidate[];
}

/**
 * The 400 when no candidate can do it; null when one can. Called before anything is reserved: it is the caller's fault.
 * `others`: the models that this caller may use, some of which may be able to.
 */
export function noneCapable(
  { id, type }: Pick<NamedModel, 'id' | 'type'>,
  candidates: readonly RouteCandidate[],
  needs: RequestNeeds,
  others: () => readonly NamedModel[],
): Failure | null {
  const unmet: { target: string; need: string }[] = [];
  for (const { target } of candidates) {
    const need = unmetNeed(target, needs);
    if (need === null) return null;
    unmet.push({ target: target.id, need });
  }
  const each = unmet.slice(0, namedMax).map(({ target, need }) => `${target} (${need})`);
  const more = unmet.length > namedMax ? ` and ${unmet.length - namedMax} more` : '';
  const able = others()
    .filter((other) => other.type === type && other.candidates.some(({ target }) => unmetNeed(target, needs) === null))
    .slice(0, namedMax);
  const remedy =
    able.length === 0 ? 'None of your other models can. Leave that out.' : `Use ${eitherOf(able)}, or leave that out.`;
  return {
    kind: 'invalid-request',
    param: paramOfNeed(unmet.map(({ need }) => need)),
    message: `No target of the model '${id}' can do what this request asks for: ${each.join(', ')}${more}. ${remedy}`,
  };
}

/**
 * The 400 where no provider of a model has the endpoint; `does`: `serves /v1/embeddings`; `models`: those that have,
 * of which `ofType` leaves one type.
 */
export function noneServes(
  { id, candidates }: Pick<NamedModel, 'id' | 'candidates'>,
  does: string,
  models: readonly (Pick<NamedModel, 'id'> & { type: string })[],
  ofType?: string,
): Failure {
  const able = models.filter(({ type }) => ofType === undefined || type === ofType);
  const providers = [...new Set(candidates.map(({ target }) => target.provider))].slice(0, namedMax);
  const remedy = able.length === 0 ? 'another model' : eitherOf(able.slice(0, namedMax));
  return invalid('model', `No provider of the model '${id}' ${does} (it has ${providers.join(', ')}). Use ${remedy}.`);
}

/** A refusal with models that can do it; the same where there are none. */
export function orUse(failure: Failure, able: readonly Pick<NamedModel, 'id'>[]): Failure {
  if (failure.kind !== 'invalid-request' || able.length === 0) return failure;
  return { ...failure, message: `${failure.message} Use ${eitherOf(able.slice(0, namedMax))} for that.` };
}

function eitherOf(models: readonly Pick<NamedModel, 'id'>[]): string {
  return models.map(({ id }) => `'${id}'`).join(' or ');
}

/** Targets and models that one message names. */
const namedMax = 3;

/** None of its providers could be made ready: the operator's to mend, not the caller's. */
export function noneUsable(alias: string): Failure {
  const message = `No provider of the model '${alias}' can be used with the present configuration. '${culvert} check' says why.`;
  return { kind: 'no-target', model: alias, retryAfterMs: unusableRetryMs, message };
}

const unusableRetryMs = 60_000;

/** `unmet` as routing words it, such as `vision`. */
export function incapable(alias: string, unmet: readonly string[]): Failure {
  return {
    kind: 'invalid-request',
    param: paramOfNeed(unmet),
    message: `No target of the model '${alias}' can do what this request asks for (${unmet.join(', ')}). Use another model, or leave that out.`,
  };
}

/** The field to change when a single need is unmet and has its own field; else the model. */
function paramOfNeed(unmet: readonly string[]): string {
  const fields = new Set(unmet.map((need) => fieldOfNeed[need.replace(/:.*/s, '')] ?? 'model'));
  const [field] = fields;
  return field === undefined || fields.size > 1 ? 'model' : field;
}

const fieldOfNeed: Readonly<Record<string, string>> = {
  logprobs: 'logprobs',
  tools: 'tools',
  'JSON schema': 'response_format',
  vision: 'messages',
  'audio input': 'messages',
  'files such as PDFs': 'messages',
  'token input': 'input',
  dimensions: 'dimensions',
  size: 'size',
  background: 'background',
  output_format: 'output_format',
  'pictures to change': 'image',
  mask: 'mask',
  markup: 'markup',
  times: 'response_format',
  file: 'file',
};

const noLanes: readonly Lane[] = [];

/** Where a prompt surely does not fit: after every fallback, and before what fails. */
const noRoomTier = 1e11;

/** Reason that keeps a choice away. */
export interface Blocked {
  standing: Standing;
  backAtMs: number;
  /** The reason in words. */
  reason: string;
}

/** One candidate as one request sees it. */
export class Choice implements Pickable {
  readonly target: Target;
  readonly lanes: readonly Lane[];
  /** Lower is tried first; equal ones are picked among. */
  readonly tier: number;
  /** Why it is out, in words; null when it is not. */
  unfit: string | null = null;
  /** The missing ability of a target that is out for it. */
  unmet: string | null = null;
  readonly weight: number;
  /** The lane it would use, as of the last survey. */
  lane: Lane | null = null;
  tried: Lane[] | null = null;
  /** Attempts without an answer. */
  tries = 0;
  /** The time at which its last failure asked to be asked again, ms; an earlier one: it named none. */
  awayUntilMs = 0;
  /** The rest of its hope after them, 0 to 1. */
  repeatHope = 1;
  /** Attempts that run. */
  running = 0;
  /** Tried, and another credential would not help: only repeated when nothing else remains. */
  spent = false;
  /** One failure was counted against it. */
  blamed = false;
  /** Closed, but asked nevertheless: more than half of the targets would be closed. */
  reopened = false;
  /** Words for its last attempt; null before one. */
  picked: 'picked' | 'picked as a probe' | 'picked as a hedge' | 'picked as the least bad' | null = null;
  /** If no lane was ready at the last survey: the one that is back first. */
  blocked: Blocked | null = null;

  /** `sizes` says whether a context that is too small by our estimate keeps it out. */
  constructor(candidate: RouteCandidate, query: RouteQuery, health: Health, sizes: 'judged' | 'not judged' = 'judged') {
    this.target = candidate.target;
    this.weight = candidate.target.weight;
    if (candidate.rank > 0 && query.fallback === 'off') {
      this.unfit = 'not allowed: no fallback wanted';
    } else {
      const { target } = candidate;
      const isSized = sizes === 'judged' && target.contextWindow !== null;
      const need = unmetNeed(target, query.needs) ?? (isSized ? unmetSize(target, query.needs) : null);
      if (need !== null) this.cannot(need);
    }
    this.lanes = this.unfit === null ? health.lanes(candidate.target) : noLanes;
    const tier = this.unfit === null ? tierOf(candidate, query.needs) : Number.POSITIVE_INFINITY;
    const room = this.lanes[0]?.state.room ?? null;
    this.tier = room !== null && query.needs.inputTokensEstimate > room.tokens ? tier + noRoomTier : tier;
  }

  cannot(need: string): void {
    this.unmet = need;
    this.unfit = `not capable: ${need}`;
  }

  get key(): number {
    return hashText(this.target.id);
  }

  get state(): LaneState {
    return this.lane!.state;
  }
}

/** The candidates as one request sees them: where an estimate would keep out the last ones, they judge it themselves. */
export function choicesOf(query: RouteQuery, health: Health): readonly Choice[] {
  const choices: Choice[] = [];
  let isAnyFit = false;
  for (const candidate of query.targets) {
    const choice = new Choice(candidate, query, health);
    isAnyFit ||= choice.unfit === null;
    choices.push(choice);
  }
  if (isAnyFit) return choices;
  return query.targets.map((candidate) => new Choice(candidate, query, health, 'not judged'));
}
