import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { DialectId } from '../dialects/dialect.ts';
import { renameField } from '../dialects/forward-body.ts';
import type { FitMembers, FittedMembers } from '../dialects/forward-target.ts';
import type { Loss } from '../neutral/loss.ts';
import { nearestEffort } from './efforts.ts';
import { withSystemFirst } from './histories.ts';
import { bareName } from './model-facts.ts';
import type { ModelQuirks, ProviderQuirks, QuirksOfModel } from './provider.ts';
import { anthropic } from './services/anthropic.ts';

const quirksByModel = new WeakMap<ProviderQuirks, Partial<Record<DialectId, Map<string, QuirksOfModel>>>>();
/** Patterns let callers make up models: at the bound the map begins anew. */
const rememberedModelsMax = 1_000;

/**
 * A provider's quirks for one of its models in a body of `dialect`, with everything to leave out in `omit`. The same
 * object each time, and the provider's own when the model accepts all that its API does, so every request may ask for
 * it. Quirks belong to the provider's own API: its refusals there say nothing of fields of the same name in Anthropic's
 * Messages, which it accepts whole.
 */
export function quirksOf(
  provider: { dialect: DialectId; quirks: ProviderQuirks },
  model: string,
  dialect: DialectId = provider.dialect,
): QuirksOfModel {
  const isGuest = dialect === 'anthropic-messages' && provider.dialect !== dialect;
  const quirks = isGuest ? inMessages(provider.quirks) : provider.quirks;
  let byDialect = quirksByModel.get(quirks);
  if (byDialect === undefined) {
    byDialect = {};
    quirksByModel.set(quirks, byDialect);
  }
  byDialect[dialect] ??= new Map();
  const byModel = byDialect[dialect];
  const known = byModel.get(model);
  if (known !== undefined) return known;
  if (byModel.size >= rememberedModelsMax) byModel.clear();
  const found = narrowed(quirks, bareName(model), dialect);
  byModel.set(model, found);
  return found;
}

/** In Messages a server whose schemas must fit its grammars refuses them, too. */
function inMessages({ fits = [] }: ProviderQuirks): ProviderQuirks {
  const ofAll = fits.filter(({ of }) => of === undefined);
  if (ofAll.length === 0) return anthropic.quirks;
  const known = messagesWithFits.get(fits) ?? {
    ...anthropic.quirks,
    fits: [...ofAll, ...(anthropic.quirks.fits ?? [])],
  };
  messagesWithFits.set(fits, known);
  return known;
}

const messagesWithFits = new WeakMap<NonNullable<ProviderQuirks['fits']>, ProviderQuirks>();

function narrowed(quirks: ProviderQuirks, name: string, dialect: DialectId): QuirksOfModel {
  const inChat = dialect === 'openai-chat';
  const rules = (quirks.models ?? []).filter(({ pattern }) => pattern.test(name));
  const all: readonly Partial<ModelQuirks>[] = [quirks, ...rules];
  const omit = new Set(all.flatMap((one) => [...(one.omit ?? []), ...((inChat && one.omitInChat) || [])]));
  // Cohere's are of another form, which its callers get.
  if (!quirks.logprobs && dialect !== 'cohere-chat') omit.add('logprobs').add('top_logprobs');
  if (!quirks.seed) omit.add('seed');
  if (rules.length === 0 && omit.size === quirks.omit.length) return quirks;
  const history = all.find((one) => one.history !== undefined)?.history;
  const efforts = rules.find((one) => one.efforts !== undefined)?.efforts;
  return {
    ...quirks,
    omit: [...omit],
    rename: Object.assign({}, ...all.map(({ rename }) => rename)),
    logprobs: quirks.logprobs && !omit.has('logprobs'),
    systemFirst: all.some((one) => one.systemFirst),
    fits: [
      ...all.flatMap((one) => [...(one.fits ?? []), ...((inChat && one.fitsInChat) || [])]),
      ...(efforts && (dialect === 'openai-chat' || dialect === 'openai-responses')
        ? [nearestEffort(efforts, dialect)]
        : []),
    ],
    ...(all.some((one) => one.functions) && { functions: true }),
    ...(history && { history }),
    ...(efforts && inChat && omit.has('reasoning') && { efforts }),
  };
}

export interface FittedBody {
  /** The same object when nothing had to change, so that a caller may forward the raw bytes. */
  body: JsonObject;
  losses: Loss[];
}

const nothingLost: Loss[] = [];

/**
 * An OpenAI-dialect body as this provider takes it: fields it refuses are left out, fields it spells otherwise are
 * renamed. A field at its default loses nothing by going and is not listed. Never changes `body` itself.
 * `quirks` are those of `quirksOf`.
 */
export function applyQuirks(body: JsonObject, quirks: QuirksOfModel): FittedBody {
  if (fits(body, quirks)) return { body, losses: nothingLost };
  const fitted: JsonObject = { ...body };
  const losses: Loss[] = [];

  for (const field of quirks.omit) leaveOut(fitted, field, losses);
  // No loss: whether the caller wanted usage is not known here, and these services send it unasked.
  if (!quirks.streamUsage) delete fitted.stream_options;
  if (Array.isArray(fitted.messages)) {
    if (quirks.systemFirst) fitted.messages = withSystemFirst(fitted.messages) ?? fitted.messages;
    fitted.messages = quirks.history?.(fitted.messages) ?? fitted.messages;
  }
  for (const fitMembers of quirks.fits ?? []) {
    const fit = fitOf(fitMembers, fitted);
    if (fit === null) continue;
    Object.assign(fitted, fit.members);
    for (const name of fit.without ?? []) delete fitted[name];
    losses.push(...fit.losses);
  }
  for (const [from, to] of Object.entries(quirks.rename)) renameField(fitted, from, to);
  return { body: fitted, losses };
}

/** Cheap enough for every request: a dozen look-ups, no allocation. */
function fits(body: JsonObject, quirks: QuirksOfModel): boolean {
  for (const field of quirks.omit) if (body[field] !== undefined) return false;
  for (const field in quirks.rename) if (body[field] !== undefined) return false;
  if (!quirks.streamUsage && body.stream_options !== undefined) return false;
  const { messages } = body;
  if (Array.isArray(messages)) {
    if (quirks.history !== undefined && quirks.history(messages) !== null) return false;
    if (quirks.systemFirst && withSystemFirst(messages) !== null) return false;
  }
  for (const fitMembers of quirks.fits ?? []) if (fitOf(fitMembers, body) !== null) return false;
  return true;
}

function fitOf(fitMembers: FitMembers, body: JsonObject): FittedMembers | null {
  return fitMembers.of === undefined || body[fitMembers.of] !== undefined ? fitMembers(body) : null;
}

/** OpenAI's default for the absent field. */
const defaults: Readonly<Record<string, JsonValue>> = {
  logprobs: false,
  n: 1,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  store: false,
  service_tier: 'auto',
  parallel_tool_calls: true,
};

function leaveOut(body: JsonObject, field: string, losses: Loss[]): void {
  const value = body[field];
  if (value === undefined) return;
  delete body[field];
  if (value !== null && value !== defaults[field]) losses.push({ field, why: 'unsupported' });
}
